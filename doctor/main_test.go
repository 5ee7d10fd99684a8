package doctor_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/doctor"
	"github.com/readsplit/readsplit/testenv"
)

var update = flag.Bool("update", false, "write the reports to testdata and docs/doctor.md")

// The tests share a cluster, with nothing to find: what PostgreSQL's own defaults
// give rise to has a test of its own. Nothing writes WAL but the tests.
var shared = sync.OnceValues(func() (*testenv.Cluster, error) {
	return testenv.New(context.Background(), testenv.Config{Settings: map[string]string{
		"hot_standby_feedback":        "on",
		"max_standby_streaming_delay": "1s",
		"autovacuum":                  "off",
		"checkpoint_timeout":          "1h",
	}})
})

var started bool

func TestMain(m *testing.M) {
	code := m.Run()
	if started {
		if c, err := shared(); err == nil {
			if code != 0 {
				if dir, err := os.MkdirTemp("", "readsplit-logs-"); err == nil {
					saved, _ := c.SaveLogs(dir)
					fmt.Println("logs kept:", strings.Join(saved, " "))
				}
			}
			if err := c.Close(context.Background()); err != nil {
				fmt.Println(err)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// whole returns the shared cluster, which has caught up; faults end with the test.
func whole(t *testing.T) *testenv.Cluster {
	t.Helper()
	started = true
	c, err := shared()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.UndoAll()) })
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	return c
}

// limit is a context that no step of a test should outlast.
func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// run sends statements to a server as its superuser.
func run(t *testing.T, s *testenv.Server, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := s.DB().ExecContext(limit(t), statement)
		require.NoError(t, err, statement)
	}
}

// afterwards sends statements when the test ends.
func afterwards(t *testing.T, s *testenv.Server, statements ...string) {
	t.Helper()
	t.Cleanup(func() { run(t, s, statements...) })
}

// until asks a server for a boolean until it is true.
func until(t *testing.T, s *testenv.Server, question string) {
	t.Helper()
	ctx := limit(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var done bool
		require.NoError(t, s.DB().QueryRowContext(ctx, question).Scan(&done), question)
		if done {
			return
		}
		<-tick.C
	}
}

// configure sets parameters of one server until the test ends.
func configure(t *testing.T, s *testenv.Server, name, value string) {
	t.Helper()
	set := func(statement, want string) {
		run(t, s, statement, "SELECT pg_reload_conf()")
		until(t, s, "SELECT current_setting('"+name+"') "+want)
	}
	var was string
	require.NoError(t, s.DB().QueryRowContext(limit(t), "SELECT current_setting('"+name+"')").Scan(&was))
	set("ALTER SYSTEM SET "+name+" = '"+value+"'", "<> '"+was+"'")
	t.Cleanup(func() { set("ALTER SYSTEM RESET "+name, "= '"+was+"'") })
}

const named = " application_name=shop"

// topology names the servers of a cluster as they are, and is quick.
func topology(c *testenv.Cluster) doctor.Topology {
	t := doctor.Topology{Watch: 200 * time.Millisecond, Timeout: 20 * time.Second, Looks: 2, Primary: doctor.Server{DSN: c.Primary().DSN() + named}}
	for _, r := range c.Replicas() {
		t.Replicas = append(t.Replicas, doctor.Server{Name: r.Name(), DSN: r.DSN() + named})
	}
	return t
}
