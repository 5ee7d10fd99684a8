package doctor_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/doctor"
	"github.com/readsplit/readsplit/testenv"
)

// broken is a way in which a topology is wrong, and everything that must be found.
type broken struct {
	name string
	// harm breaks servers, and names them.
	harm func(t *testing.T, c *testenv.Cluster, x *doctor.Topology)
	// want are all findings but those that are ok: severity, ID, server.
	want []string
	exit int
}

var topologies = []broken{
	{"healthy", func(*testing.T, *testenv.Cluster, *doctor.Topology) {}, nil, 0},
	{"as-installed", asInstalled, []string{
		"notice standby-delay replica1", "notice feedback-off replica1",
	}, 0},
	{"replay-paused", func(t *testing.T, c *testenv.Cluster, _ *doctor.Topology) {
		inject(t, c.Replica(0).PauseReplay)
		write(t, c)
	}, []string{"problem replay-paused replica1"}, 2},
	{"apply-delay", func(t *testing.T, c *testenv.Cluster, _ *doctor.Topology) {
		_, err := c.Replica(0).Delay(limit(t), time.Hour)
		require.NoError(t, err)
		write(t, c)
	}, []string{"problem apply-delay replica1"}, 2},
	{"cut-off", func(t *testing.T, c *testenv.Cluster, _ *doctor.Topology) {
		inject(t, c.Replica(0).Cut)
		write(t, c)
	}, []string{"problem cut-off replica1"}, 2},
	{"cascading", func(t *testing.T, c *testenv.Cluster, _ *doctor.Topology) {
		_, err := c.Replica(0).Follow(limit(t), c.Replica(1))
		require.NoError(t, err)
		until(t, c.Primary(), "SELECT count(*) = 1 FROM pg_stat_replication")
	}, []string{"notice cascading replica1"}, 0},
	{"held-up-by-a-query", heldUp, []string{
		"warning replica-behind replica1", "warning standby-delay replica1", "warning long-transaction replica1",
	}, 1},
	{"stopped", func(t *testing.T, c *testenv.Cluster, _ *doctor.Topology) {
		inject(t, c.Replica(0).Stop)
	}, []string{"problem unreachable replica1"}, 2},
	{"promoted", func(t *testing.T, c *testenv.Cluster, _ *doctor.Topology) {
		inject(t, c.Replica(0).Promote)
	}, []string{"problem replica-is-primary replica1"}, 2},
	{"two-primaries", func(t *testing.T, c *testenv.Cluster, x *doctor.Topology) {
		inject(t, c.Replica(0).Promote)
		x.Primary.DSN = several(c.Primary(), c.Replica(0))
		x.Replicas = x.Replicas[1:]
	}, []string{"problem two-primaries primary", "problem timeline-differs replica2"}, 2},
	{"swapped", func(_ *testing.T, c *testenv.Cluster, x *doctor.Topology) {
		x.Primary.DSN, x.Replicas[0].DSN = x.Replicas[0].DSN, x.Primary.DSN
	}, []string{"problem replica-is-primary replica1", "problem primary-in-recovery primary"}, 2},
	{"same-server", func(_ *testing.T, c *testenv.Cluster, x *doctor.Topology) {
		x.Replicas[0].DSN = x.Primary.DSN
		x.Replicas = append(x.Replicas, doctor.Server{Name: "replica3", DSN: x.Replicas[1].DSN})
	}, []string{"problem same-server replica1", "warning same-server replica3"}, 2},
	{"foreign", func(t *testing.T, c *testenv.Cluster, x *doctor.Topology) {
		other := testenv.Start(t, testenv.Replicas(0), testenv.Version(strconv.Itoa(c.Major())))
		x.Replicas[0].DSN = other.Primary().DSN() + named
	}, []string{"problem replica-is-primary replica1", "problem foreign-system replica1"}, 2},
	{"balanced", func(t *testing.T, c *testenv.Cluster, x *doctor.Topology) {
		x.Looks = 0 // the default
		x.Replicas = []doctor.Server{{Name: "replicas", DSN: at(c.Replica(0).DSN(), roundRobin(t, c.Replica(0), c.Replica(1))) + named}}
	}, []string{"warning several-servers replicas"}, 1},
	{"pooler-transaction-mode", func(t *testing.T, c *testenv.Cluster, x *doctor.Topology) {
		x.Primary.DSN = pgbouncer(t, c.Primary(), "transaction") + named
		x.Replicas[0].DSN = pgbouncer(t, c.Replica(0), "transaction") + named
	}, []string{"warning pooler-transaction-mode primary", "warning pooler-transaction-mode replica1"}, 1},
	{"pooler-session-mode", func(t *testing.T, c *testenv.Cluster, x *doctor.Topology) {
		x.Replicas[0].DSN = pgbouncer(t, c.Replica(0), "session") + named
	}, []string{"notice pooler-session-mode replica1"}, 0},
	{"privileges", privileges, []string{
		"problem question-refused primary", "problem question-refused replica1", "problem question-refused replica2",
		"notice monitor-role-missing primary", "notice monitor-role-missing replica1", "notice monitor-role-missing replica2",
	}, 2},
	{"login", func(t *testing.T, c *testenv.Cluster, x *doctor.Topology) {
		x.Replicas[0].DSN += " password=not-the-right-one"
		x.Replicas[1].DSN += " dbname=nobody"
	}, []string{"problem login-refused replica1", "problem login-refused replica2"}, 2},
	{"commits-wait", func(t *testing.T, c *testenv.Cluster, _ *doctor.Topology) {
		configure(t, c.Primary(), "synchronous_standby_names", "FIRST 1 (pg9)")
	}, []string{"problem sync-standby-missing primary"}, 2},
	{"session-defaults", sessionDefaults, []string{
		"problem read-only-default primary", "problem serializable-default replica1", "problem serializable-default replica2",
		"warning idle-session-timeout primary", "warning idle-session-timeout replica1", "warning idle-session-timeout replica2",
		"notice session-timeouts primary", "notice session-timeouts replica1", "notice session-timeouts replica2",
	}, 2},
	{"slot-left-behind", func(t *testing.T, c *testenv.Cluster, _ *doctor.Topology) {
		run(t, c.Primary(), "SELECT pg_create_physical_replication_slot('pg9', true)")
		afterwards(t, c.Primary(), "SELECT pg_drop_replication_slot('pg9')")
	}, []string{"warning slot-inactive primary"}, 1},
	{"pools-too-large", func(_ *testing.T, _ *testenv.Cluster, x *doctor.Topology) {
		x.Pool, x.PrimaryPool, x.Instances = 64, 20, 4
	}, []string{"problem connections-exceeded replica1", "problem connections-exceeded replica2"}, 2},
	{"databases", func(t *testing.T, c *testenv.Cluster, x *doctor.Topology) {
		x.Replicas[0].DSN = c.Replica(0).DSNFor("template1") + named
		x.Replicas[1].DSN = strings.Replace(c.Replica(1).DSN(), "dbname=postgres", "", 1)
	}, []string{
		"problem databases-differ replica1", "warning database-not-named replica2", "notice application-name-missing replica2",
	}, 2},
}

func TestTopologies(t *testing.T) {
	for _, b := range topologies {
		t.Run(b.name, func(t *testing.T) {
			c := whole(t)
			x := topology(c)
			b.harm(t, c, &x)
			report, err := doctor.Examine(limit(t), x)
			require.NoError(t, err)

			var got []string
			for _, f := range report.Findings {
				if f.Severity > doctor.OK {
					got = append(got, strings.TrimSpace(f.Severity.String()+" "+string(f.ID)+" "+f.Server))
				}
			}
			var text strings.Builder
			require.NoError(t, report.WriteText(&text))
			require.Equal(t, b.want, got, text.String())
			assert.Equal(t, b.exit, report.ExitStatus())
			golden(t, filepath.Join("testdata", b.name+".txt"), report)
			assert.NotContains(t, text.String(), passwordOf(c.Primary()))
		})
	}
}

// What differs from run to run: positions, durations, addresses, versions.
var volatile = []struct {
	pattern *regexp.Regexp
	stable  string
}{
	{regexp.MustCompile(`\b\d+ (bytes|kB|MB)`), "N bytes"},
	{regexp.MustCompile(`\b\d+\.\d s\b`), "N s"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:5432"},
	{regexp.MustCompile(`(system identifier is|primary's is) \d{10,}`), "$1 NNN"},
	{regexp.MustCompile(`pid \d+`), "pid NNN"},
	{regexp.MustCompile(`pid = \d+`), "pid = NNN"},
	{regexp.MustCompile(`backend\(\d+\)`), "backend(NNN)"},
	{regexp.MustCompile(`last of \d+ looks?`), "last of N looks"},
	{regexp.MustCompile(`has \d+ rows?`), "has N rows"},
}

func stable(text string) string {
	for _, v := range volatile {
		text = v.pattern.ReplaceAllString(text, v.stable)
	}
	return text
}

// golden compares a report with what is in testdata, which docs/doctor.md shows.
func golden(t *testing.T, file string, r doctor.Report) {
	t.Helper()
	r.Took = time.Second
	for i := range r.Findings {
		f := &r.Findings[i]
		f.What, f.Remedy = stable(f.What), stable(f.Remedy)
	}
	for i := range r.Servers {
		s := &r.Servers[i]
		s.Address = stable(s.Address)
		if s.Version != "" {
			s.Version = "15.18"
		}
		s.Behind, s.Lag = nil, nil
	}
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	for line := range strings.Lines(text.String()) {
		assert.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), 80, line)
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), text.String(), "if that is meant, run: go test ./doctor -update")
}
