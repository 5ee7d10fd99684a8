package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/doctor"
	"github.com/readsplit/readsplit/testenv/tdsenv"
)

func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// broken is a way in which an availability group is wrong, and everything that must be
// found: severity, ID, server.
type broken struct {
	name  string
	group tdsenv.Config
	harm  func(t *testing.T, c *tdsenv.Cluster, x *doctor.Topology)
	want  []string
	// says are texts that the report must have.
	says []string
	exit int
}

func harm(inject func(*tdsenv.Server, context.Context) (tdsenv.Undo, error)) func(*testing.T, *tdsenv.Cluster, *doctor.Topology) {
	return func(t *testing.T, c *tdsenv.Cluster, _ *doctor.Topology) {
		_, err := inject(c.Server("SQL2"), limit(t))
		require.NoError(t, err)
	}
}

// write commits something on the primary.
func write(t *testing.T, c *tdsenv.Cluster) {
	t.Helper()
	db, err := sql.Open("sqlserver", c.Primary().DSN())
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	_, err = db.ExecContext(limit(t), "CREATE TABLE written (id int NOT NULL PRIMARY KEY); INSERT INTO written (id) VALUES (1)")
	require.NoError(t, err)
}

func deny(t *testing.T, servers ...*tdsenv.Server) {
	t.Helper()
	for _, s := range servers {
		_, err := s.DenyView(limit(t))
		require.NoError(t, err)
	}
}

var groups = []broken{
	{name: "healthy", says: []string{"SQL1 is READ_WRITE, and 2 replicas are READ_ONLY", "SQL Server 16.0.1000.6  SQL2"}},
	{name: "replica is the primary", harm: func(_ *testing.T, c *tdsenv.Cluster, x *doctor.Topology) {
		x.Replicas[0].DSN = c.Server("SQL1").ReadOnlyDSN()
	}, want: []string{"problem replica-is-primary ag2"}, says: []string{"a request which only the listener"}, exit: 2},
	{name: "primary is a secondary", harm: func(_ *testing.T, c *tdsenv.Cluster, x *doctor.Topology) {
		x.Primary.DSN = c.Server("SQL2").DSN()
		x.Replicas = x.Replicas[1:]
	}, want: []string{"problem primary-in-recovery primary"}, exit: 2},
	{name: "misspelt intent", harm: func(_ *testing.T, c *tdsenv.Cluster, x *doctor.Topology) {
		x.Replicas[0].DSN = c.Listener().DSN() + "&ApplicationIntent=readonly"
	}, want: []string{"problem replica-is-primary ag2", "problem intent-misspelt ag2"}, exit: 2},
	{name: "no database", harm: func(_ *testing.T, c *tdsenv.Cluster, x *doctor.Topology) {
		x.Replicas[0].DSN = c.Server("SQL2").DSNFor("")
	}, want: []string{"problem databases-differ ag2", "problem replica-is-primary ag2", "warning database-not-named ag2", "warning positions-missing ag2", "warning intent-missing ag2"}, exit: 2},
	{name: "no availability group", group: tdsenv.Config{NoGroup: true}, want: []string{
		"problem replica-is-primary ag2", "problem replica-is-primary ag3",
		"warning positions-missing primary", "warning positions-missing ag2", "warning positions-missing ag3",
	}, says: []string{"in no availability group"}, exit: 2},
	{name: "another group", harm: func(t *testing.T, _ *tdsenv.Cluster, x *doctor.Topology) {
		x.Replicas[0].DSN = tdsenv.Start(t, tdsenv.Config{}).Server("SQL2").ReadOnlyDSN()
	}, want: []string{"problem foreign-system ag2"}, exit: 2},
	{name: "no permission", harm: func(t *testing.T, c *tdsenv.Cluster, _ *doctor.Topology) { deny(t, c.Servers()...) }, want: []string{
		"warning positions-missing primary", "warning positions-missing ag2", "warning positions-missing ag3",
	}, says: []string{"GRANT VIEW SERVER STATE", "VIEW SERVER PERFORMANCE STATE"}, exit: 1},
	{name: "no permission on one", harm: func(t *testing.T, c *tdsenv.Cluster, _ *doctor.Topology) { deny(t, c.Server("SQL2")) },
		want: []string{"warning positions-missing ag2"}, exit: 1},
	{name: "suspended", harm: harm((*tdsenv.Server).Suspend), want: []string{"problem data-movement-suspended ag2"}, says: []string{"SUSPEND_FROM_USER", "HADR RESUME"}, exit: 2},
	{name: "cut off", harm: harm((*tdsenv.Server).Cut), want: []string{"problem not-synchronizing ag2"}, says: []string{"NOT SYNCHRONIZING"}, exit: 2},
	{name: "redo paused", harm: func(t *testing.T, c *tdsenv.Cluster, x *doctor.Topology) {
		x.MaxLag, x.Replicas = x.Watch, x.Replicas[:1]
		_, err := c.Server("SQL2").PauseRedo(limit(t))
		require.NoError(t, err)
		write(t, c)
	}, want: []string{"problem replica-behind ag2"}, exit: 2},
	{name: "several servers", harm: func(_ *testing.T, c *tdsenv.Cluster, x *doctor.Topology) {
		x.Replicas = []doctor.Server{{Name: "listener", DSN: c.Listener().ReadOnlyDSN()}}
	}, want: []string{"warning several-servers listener"}, says: []string{"SQL2", "SQL3", "Replica.Balanced"}, exit: 1},
	{name: "one server twice", harm: func(_ *testing.T, c *tdsenv.Cluster, x *doctor.Topology) {
		x.Replicas[1].DSN = c.Server("SQL2").ReadOnlyDSN()
	}, want: []string{"warning same-server ag3"}, exit: 1},
	{name: "no routing list", group: tdsenv.Config{RoutingList: tdsenv.NoRouting}, harm: func(_ *testing.T, c *tdsenv.Cluster, x *doctor.Topology) {
		x.Replicas[0].DSN = c.Listener().ReadOnlyDSN()
	}, want: []string{"problem not-routed ag2"}, says: []string{"READ_ONLY_ROUTING_LIST"}, exit: 2},
	{name: "nobody to route to", group: tdsenv.Config{Nodes: 2, RoutingList: "('SQL2')"}, harm: func(t *testing.T, c *tdsenv.Cluster, x *doctor.Topology) {
		_, err := c.Server("SQL2").Allow(limit(t), tdsenv.AllowNone)
		require.NoError(t, err)
		x.Replicas[0].DSN = c.Listener().ReadOnlyDSN()
	}, want: []string{"problem not-routed ag2"}, says: []string{"982"}, exit: 2},
	{name: "redirect loop", group: tdsenv.Config{Nodes: 2, RoutingList: "('SQL2')"}, harm: func(t *testing.T, c *tdsenv.Cluster, x *doctor.Topology) {
		_, err := c.Server("SQL2").Route(limit(t), c.Listener().URL())
		require.NoError(t, err)
		x.Replicas[0].DSN = c.Listener().ReadOnlyDSN()
		x.Timeout = 2 * time.Second
	}, want: []string{"problem routing-loop ag2"}, says: []string{"must be each server's own address"}, exit: 2},
	{name: "readers kept out", group: tdsenv.Config{Allow: tdsenv.AllowNone}, want: []string{
		"problem secondary-not-readable ag2", "problem secondary-not-readable ag3"}, says: []string{"ALLOW_CONNECTIONS"}, exit: 2},
	{name: "wrong password", harm: func(_ *testing.T, c *tdsenv.Cluster, x *doctor.Topology) {
		x.Replicas[0].DSN = strings.Replace(x.Replicas[0].DSN, c.Password(), "hidden", 1)
	}, want: []string{"problem login-refused ag2"}, says: []string{"with the same SID"}, exit: 2},
	{name: "killed", harm: harm((*tdsenv.Server).Kill), want: []string{"problem unreachable ag2"}, exit: 2},
	{name: "frozen", harm: func(t *testing.T, c *tdsenv.Cluster, x *doctor.Topology) {
		harm((*tdsenv.Server).Freeze)(t, c, x)
		x.Timeout = 2 * time.Second
	}, want: []string{"problem unreachable ag2"}, exit: 2},
	{name: "delayed durability", group: tdsenv.Config{DelayedDurability: 1}, want: []string{"warning delayed-durability primary"}, exit: 1},
}

// TestAvailabilityGroups: what is wrong with each group is found, and nothing else.
func TestAvailabilityGroups(t *testing.T) {
	for _, b := range groups {
		t.Run(strings.ReplaceAll(b.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			c := tdsenv.Start(t, b.group)
			// Nothing is under a limit that a busy machine could reach.
			x := doctor.Topology{Primary: doctor.Server{DSN: c.Primary().DSN()}, Watch: 100 * time.Millisecond, Timeout: 20 * time.Second, MaxLag: 20 * time.Second, Looks: 4}
			for _, s := range c.Servers()[1:] {
				x.Replicas = append(x.Replicas, doctor.Server{Name: "ag" + strings.TrimPrefix(s.Name(), "SQL"), DSN: s.ReadOnlyDSN()})
			}
			if b.harm != nil {
				b.harm(t, c, &x)
			}
			report, err := doctor.Examine(limit(t), x)
			require.NoError(t, err)
			var got []string
			for _, f := range report.Findings {
				if f.Severity != doctor.OK {
					got = append(got, f.Severity.String()+" "+string(f.ID)+" "+f.Server)
				}
			}
			var text strings.Builder
			require.NoError(t, report.WriteText(&text))
			all, err := json.Marshal(report)
			require.NoError(t, err)
			require.ElementsMatch(t, b.want, got, text.String())
			assert.Equal(t, b.exit, report.ExitStatus())
			flat := strings.Join(strings.Fields(text.String()), " ")
			for _, say := range b.says {
				assert.Contains(t, flat, strings.Join(strings.Fields(say), " "))
			}
			for _, secret := range []string{c.Password(), "hidden"} {
				assert.NotContains(t, text.String()+string(all), secret)
			}
		})
	}
}

// TestADOStrings: the other form of a connection string is asked as well.
func TestADOStrings(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
	ado := func(s *tdsenv.Server, more string) string {
		host, port, err := net.SplitHostPort(s.Addr())
		require.NoError(t, err)
		return "server=" + host + ";port=" + port + ";user id=" + c.User() + ";password=" + c.Password() + ";database=app;encrypt=disable" + more
	}
	code, out, errs := call(t, nil, "doctor", "-watch", "0s", "-timeout", "20s", "-json",
		"-primary", ado(c.Primary(), ""), "-replica", "ag2="+ado(c.Replica(0), ";ApplicationIntent=ReadOnly;"))
	assert.Equal(t, 0, code, out+errs)
	var got struct {
		Servers []doctor.Examined `json:"servers"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Len(t, got.Servers, 2)
	assert.Equal(t, "primary", got.Servers[0].Is)
	assert.Equal(t, "secondary", got.Servers[1].Is)
	assert.Equal(t, "SQL2", got.Servers[1].Server)
	assert.Equal(t, "SQL Server", got.Servers[1].Product)
	assert.NotContains(t, out, c.Password())
	assert.True(t, slices.ContainsFunc(c.Replica(0).Logins(), func(l tdsenv.Login) bool { return l.App == "readsplit doctor" && l.ReadOnly }))
}
