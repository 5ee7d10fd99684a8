package readsplit_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/failover"
	"github.com/readsplit/readsplit/testenv"
)

// hostsOf is the part of a DSN that names several servers.
func hostsOf(servers ...*testenv.Server) string {
	var hosts, ports []string
	for _, s := range servers {
		hosts, ports = append(hosts, "127.0.0.1"), append(ports, fmt.Sprint(s.Port()))
	}
	return "host=" + strings.Join(hosts, ",") + " port=" + strings.Join(ports, ",")
}

// unopened keeps gorm.Open from connecting, so that every connection of a test is
// the plugin's.
func unopened() dbOption {
	return gormConfigured(func(c *gorm.Config) { c.DisableAutomaticPing = true })
}

// everyHost makes each of the servers a replica, under its own name but for the
// primary, which is called "first".
func everyHost(servers ...*testenv.Server) dbOption {
	return func(o *dbOptions) {
		o.config.Replicas = nil
		for _, s := range servers {
			name := s.Name()
			if name == "primary" {
				name = "first"
			}
			o.config.Replicas = append(o.config.Replicas, readsplit.Replica{Name: name, Dialector: postgres.Open(s.DSNFor(o.database))})
		}
	}
}

// newFollowing opens a database as docs/failover.md says: all hosts in the DSN, and
// each of them as a replica.
func newFollowing(t testing.TB, c *testenv.Cluster, options ...dbOption) *testDB {
	t.Helper()
	all := c.Servers()
	return newDB(t, c, append([]dbOption{connected(hostsOf(all...)), unopened(), everyHost(all...), configured(quick)}, options...)...)
}

// unhurried is what an application has that changes nothing: what is promised of
// times is promised of that.
func unhurried(c *readsplit.Config) {
	c.SampleEvery, c.SampleTimeout, c.MaxSampleAge, c.MaxLag, c.StickyWindow, c.MaxWait = 0, 0, 0, 0, 0, 0
}

// followPrimary is the test of the field: the replicas are asked whether they are the
// primary now.
func (f fieldTest) followPrimary(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.FollowPrimary = true })
	require.Empty(t, base.plugin.Status().Failover.Hosts)
	st := changed.plugin.Status()
	var names []string
	for _, h := range st.Failover.Hosts {
		names = append(names, h.Name)
	}
	require.Equal(t, []string{f.c.Primary().Addr(), "replica1", "replica2"}, names)
	require.Equal(t, f.c.Primary().Addr(), st.Primary.Host)
	require.ErrorContains(t, used(t, readsplit.Config{FollowPrimary: true}), "Config.FollowPrimary is true, but Config.Replicas is empty")
}

// hostOf is how a server is called in the election of newFollowing.
func hostOf(s *testenv.Server) string { return s.Addr() }

// follows waits until the plugin's primary is a server.
func (d *testDB) follows(t testing.TB, s *testenv.Server) {
	t.Helper()
	eventually(t, s.Name()+" to be followed", func() bool {
		st := d.plugin.Status()
		return st.Failover.State == failover.Elected && st.Primary.Host == hostOf(s)
	})
}

// pooled counts the connections to a server that are there for statements: all to
// the database of d but those that the plugin asks its own questions on, and those
// that have not asked anything: a server that was frozen takes in all who had tried to
// connect, and finds out afterwards that they have gone.
func (d *testDB) pooled(t testing.TB, s *testenv.Server) int {
	t.Helper()
	return ask[int](t, s, "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name <> 'sum' AND query <> '' AND query NOT LIKE 'SELECT concat_ws(%'", d.name)
}

// sum is what the counters of a server add up to, asked past the plugin.
func (d *testDB) sum(t testing.TB, s *testenv.Server) (n int64) {
	t.Helper()
	db, err := sql.Open("pgx", s.DSNFor(d.name)+" application_name=sum") // it may be there for a moment after it was closed
	require.NoError(t, err)
	require.NoError(t, db.QueryRowContext(limit(t), "SELECT sum(n) FROM counters").Scan(&n))
	require.NoError(t, db.Close())
	return n
}

// acks are the writes of users that were acknowledged, with who says that it ran
// them.
type acks struct {
	mu  sync.Mutex
	all []ack
}

type ack struct {
	began, at time.Time
	server    string
}

// writer is a users.writer that asks the server for its name in the same statement.
func (a *acks) writer(db *gorm.DB, id int, n int64) error {
	began := time.Now()
	var server string
	err := db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec("UPDATE counters SET n = ? WHERE id = ?", n, id).Error; err != nil {
			return err
		}
		return tx.Raw(whoSQL).Scan(&server).Error
	})
	if err == nil {
		a.mu.Lock()
		a.all = append(a.all, ack{began, time.Now(), server})
		a.mu.Unlock()
	}
	return err
}

// count counts the acknowledgements of a server that came after a moment.
func (a *acks) count(s *testenv.Server, after time.Time) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range a.all {
		if k.server == s.Name() && k.at.After(after) {
			n++
		}
	}
	return n
}

// first returns when a server acknowledged its first write.
func (a *acks) first(s *testenv.Server) (at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range a.all {
		if k.server == s.Name() && (at.IsZero() || k.at.Before(at)) {
			at = k.at
		}
	}
	return at
}

// last returns when the newest write that a server acknowledged was acknowledged.
func (a *acks) last(s *testenv.Server) (at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range a.all {
		if k.server == s.Name() && k.at.After(at) {
			at = k.at
		}
	}
	return at
}

// load starts users who write and read, each with a session, and as many readers
// who never write.
func load(t testing.TB, d *testDB, n int) (u, readers *users, a *acks) {
	t.Helper()
	u, readers, a = newUsers(d), newUsers(d), &acks{}
	u.writer = a.writer
	for id := range n {
		ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
		u.done.Go(func() { u.use(ctx, ctx, id) })
		readers.done.Go(func() { readers.only(readsplit.WithSession(context.Background(), readsplit.NewSession())) })
	}
	t.Cleanup(u.end)
	t.Cleanup(readers.end)
	return u, readers, a
}
