package matrix

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

// environment is the servers, and the watch over them.
type environment struct {
	cluster *testenv.Cluster
	watch   *watch
	lines   int
}

func newEnvironment(t *testing.T) *environment {
	c := testenv.Start(t,
		testenv.Setting("log_statement", "all"),
		testenv.Setting("log_line_prefix", linePrefix),
		testenv.Setting("log_parameter_max_length", "0"),
		// Nothing but the cells writes, so that what a replica shows depends on them alone.
		testenv.Setting("autovacuum", "off"),
	)
	w, err := newWatch(c)
	require.NoError(t, err)
	t.Cleanup(w.close)
	return &environment{cluster: c, watch: w}
}

// line is one application: a database of its own, opened in one way.
type line struct {
	e        *environment
	db       *gorm.DB
	plugin   *readsplit.Plugin
	pool     *sql.DB
	admin    *sql.DB // to the same database of the primary, past the plugin
	database string
	life     context.Context // of its cells
	finish   context.CancelFunc
	dirty    bool // the data are not as they were made
	unsure   bool // the last cell may have left the plugin in doubt
}

// dsn names a database on a server, for the application.
func (e *environment) dsn(server, database string) string {
	return e.cluster.Server(server).DSNFor(database) + " application_name=" + application
}

// open makes a database and opens it as s says, with the plugin.
func (e *environment) open(t *testing.T, s setup, prefer readsplit.Preference) *line {
	e.lines++
	l := &line{e: e, database: fmt.Sprintf("matrix_%d", e.lines)}
	ctx := limit(t)
	l.life, l.finish = context.WithTimeout(context.Background(), 5*time.Minute)
	require.NoError(t, e.cluster.CreateDatabase(ctx, l.database))
	var err error
	l.admin, err = sql.Open("pgx", e.cluster.Primary().DSNFor(l.database))
	require.NoError(t, err)
	l.admin.SetMaxOpenConns(1)
	_, err = l.admin.ExecContext(ctx, schemaSQL)
	require.NoError(t, err)
	l.reset(ctx, t)

	l.db, err = gorm.Open(postgres.Open(e.dsn("primary", l.database)), &gorm.Config{
		Logger: e.watch, PrepareStmt: s.prepared, SkipDefaultTransaction: s.skipTx,
	})
	require.NoError(t, err)
	l.pool, err = l.db.DB()
	require.NoError(t, err)
	l.plugin = readsplit.New(readsplit.Config{
		Default: prefer,
		Replicas: []readsplit.Replica{
			{Name: "replica1", Dialector: postgres.Open(e.dsn("replica1", l.database))},
			{Name: "replica2", Dialector: postgres.Open(e.dsn("replica2", l.database)), Groups: []string{reporting}},
		},
		// Where a read goes is up to what it is and whose it is. Time must not matter: a slow machine would send
		// reads to the primary because a replica's news are old.
		MaxLag: readsplit.Off, MaxSampleAge: time.Minute, SampleTimeout: 10 * time.Second, MaxWait: 20 * time.Second,
		StickyWindow: time.Millisecond, ForbidNudge: true,
	})
	require.NoError(t, l.db.Use(l.plugin))
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !l.ready() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.FailNow(t, "the replicas did not become ready")
		}
	}
	return l
}

// ready: both replicas may be read from.
func (l *line) ready() bool {
	for _, r := range l.plugin.Status().Replicas {
		if !r.Up || r.Role != policy.RoleStandby || !r.LagKnown {
			return false
		}
	}
	return true
}

func (l *line) close(t *testing.T) {
	l.finish()
	ctx := limit(t)
	require.NoError(t, l.plugin.Close(ctx))
	require.NoError(t, l.pool.Close())
	require.NoError(t, l.admin.Close())
}

// reset makes the data as they were, and waits until both replicas have them.
func (l *line) reset(ctx context.Context, t require.TestingT) {
	_, err := l.admin.ExecContext(ctx, "SELECT reset_all()")
	require.NoError(t, err)
	l.settle(ctx, t)
	l.dirty = false
}

// calm reads until a replica serves: what an earlier cell did on connections that nobody sees into keeps the reads of the
// whole process on the primary for a while, and is not what the next cell is about.
func (l *line) calm(p *probe) {
	for range 100 {
		tx := l.db.WithContext(l.life).Raw("SELECT 1").Scan(new(int))
		require.NoError(p, tx.Error)
		if d, ok := readsplit.DecisionOf(tx); ok && d.Replica {
			return
		}
	}
	require.Fail(p, "reads stay on the primary after an earlier cell")
}

// settle waits until both replicas have what was written.
func (l *line) settle(ctx context.Context, t require.TestingT) {
	var position string
	require.NoError(t, l.admin.QueryRowContext(ctx, "SELECT pg_current_wal_flush_lsn()::text").Scan(&position))
	for _, r := range l.e.cluster.Replicas() {
		tick := time.NewTicker(time.Millisecond)
		for there := false; !there; {
			require.NoError(t, r.DB().QueryRowContext(ctx, "SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn", position).Scan(&there))
			if !there {
				<-tick.C
			}
		}
		tick.Stop()
	}
}

// past runs a cell's own preparations past the plugin.
func (l *line) past(ctx context.Context, t require.TestingT, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	_, err := l.admin.ExecContext(ctx, text)
	require.NoError(t, err)
	l.settle(ctx, t)
}

// limit is a context that no step should outlast.
func limit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
