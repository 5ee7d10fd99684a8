package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// view of a primary and two replicas with nothing to find, watched for 10 s while
// the primary wrote 1,000,000 bytes a second.
func healthyView(t *testing.T) *view {
	t.Helper()
	top, err := Topology{Primary: Server{DSN: "x"}, Replicas: []Server{{"pg2", "x"}, {"pg3", "x"}}}.complete()
	require.NoError(t, err)
	v := &view{Topology: top}
	for i, name := range []string{"primary", "pg2", "pg3"} {
		cfg, err := pgx.ParseConfig("host=" + name + " dbname=shop user=shop password=hidden sslmode=verify-full application_name=shop")
		require.NoError(t, err)
		f := newFacts(name, i == 0, cfg, top.Timeout)
		f.about = about{
			Recovery: i > 0, Database: "shop", User: "shop", Version: "15.18", Number: 150018,
			Started: int64(1000 + i), Cluster: name, Monitor: true, Emit: true,
		}
		f.sample = lsn.Sample{Server: lsn.Server{System: 7301, Started: int64(1000 + i)}, InRecovery: i > 0, MaxConnections: 100, Reserved: 3, ClusterName: name}
		if i == 0 {
			f.sample.Timeline = 3
			f.standbys = []standby{{"pg2", "streaming", "async"}, {"pg3", "streaming", "async"}}
		} else {
			f.sample.ReceivedTimeline, f.sample.ControlTimeline = 3, 3
		}
		f.settings = map[string]setting{}
		for name, value := range map[string]string{
			"wal_level": "replica", "max_wal_senders": "10", "wal_keep_size": "1024", "archive_mode": "off", "max_slot_wal_keep_size": "-1",
			"synchronous_commit": "on", "synchronous_standby_names": "", "hot_standby_feedback": "on",
			"max_standby_streaming_delay": "1000", "default_transaction_read_only": "off", "statement_timeout": "0", "max_connections": "100",
		} {
			f.settings[name] = setting{value, "default"}
		}
		f.through = through{servers: []identity{f.identity()}, tries: defaultLooks}
		v.all = append(v.all, f)
	}
	v.choose()
	for i := range 21 {
		at := noon.Add(time.Duration(i) * 500 * time.Millisecond)
		written := lsn.LSN(1_000_000_000 + i*500_000)
		r := round{}
		for j, f := range v.all {
			m := moment{began: at, ended: at.Add(time.Millisecond), Recovery: j > 0, Clock: float64(at.UnixNano()) / 1e9}
			if j == 0 {
				m.Flush, m.Insert = written, written+100
			} else {
				m.Replay, m.Receive, m.Receiver = written, written, true
			}
			r[f] = m
		}
		v.rounds = append(v.rounds, r)
	}
	return v
}

// change alters every moment of one server.
func (v *view) change(server int, alter func(i int, m *moment)) {
	for i, r := range v.rounds {
		f := v.all[server]
		m := r[f]
		alter(i, &m)
		r[f] = m
	}
}

// set changes a setting of one server.
func (f *facts) set(name, value, source string) { f.settings[name] = setting{value, source} }

func refused(code string) error {
	return fmt.Errorf("wrapped: %w", &pgconn.PgError{Severity: "FATAL", Code: code, Message: "no"})
}

// judgedCases are those of PostgreSQL: what differs from the healthy view, and every
// finding that is not ok.
var judgedCases = []struct {
	name string
	harm func(v *view)
	want string // severity id server: what, of which each is contained
}{
	{"healthy", func(*view) {}, ""},

	// Reaching.
	{"no server there", func(v *view) { v.all[1].dialed = errors.Join(errors.New("dial error: connection refused")) },
		"problem unreachable pg2: pg2:5432 cannot be reached: dial error: connection refused."},
	{"starting", func(v *view) { v.all[1].dialed = refused("57P03") }, "problem unreachable pg2: pg2:5432 is there and admits nobody: no (SQLSTATE 57P03)."},
	{"wrong password", func(v *view) { v.all[2].dialed = refused("28P01") }, `problem login-refused pg3: pg3:5432 refuses user "shop", database "shop": no (SQLSTATE 28P01).`},
	{"no such database", func(v *view) { v.all[2].dialed = refused("3D000") }, "problem login-refused pg3"},
	{"unknown parameter", func(v *view) {
		v.all[2].dialed = &pgconn.PgError{Code: "42704", Message: `unrecognized configuration parameter "hidden"`}
	}, "problem dsn-invalid pg3: pg3:5432 does not know a parameter that the DSN sets (SQLSTATE 42704). It is not shown"},
	{"full", func(v *view) { v.all[1].dialed = refused("53300") }, "problem connections-used-up pg2"},
	{"primary gone", func(v *view) { v.all[0].dialed, v.primary = errors.New("no answer within 5s"), nil },
		"problem unreachable primary: primary:5432 cannot be reached: no answer within 5s."},
	{"gone meanwhile", func(v *view) { v.all[1].lost = "unexpected EOF" }, "problem unreachable pg2: It answered at first, and then no longer: unexpected EOF."},
	{"no database", func(v *view) { v.all[1].cfg.Database = "" }, `warning database-not-named pg2: it is the one called "shop"`},
	{"other database", func(v *view) { v.all[1].about.Database = "crm" }, `problem databases-differ pg2: It is connected to database "crm", and the primary to "shop".`},
	{"no application", func(v *view) { delete(v.all[0].cfg.RuntimeParams, "application_name") }, "notice application-name-missing primary"},
	{"TLS is preferred", func(v *view) { v.all[1].cfg.Fallbacks = []*pgconn.FallbackConfig{{Host: "pg2", Port: 5432}} }, "notice tls-optional pg2: a connection to pg2"},
	{"TLS is off", func(v *view) { v.all[1].cfg.TLSConfig = nil }, "notice tls-optional pg2"},
	{"TLS is off on this machine", func(v *view) { v.all[1].cfg.TLSConfig, v.all[1].cfg.Host = nil, "::1" }, ""},
	{"TLS is off in a socket", func(v *view) { v.all[1].cfg.TLSConfig, v.all[1].cfg.Host = nil, "/run/postgresql" }, ""},
	{"several hosts", func(v *view) {
		v.all[1].cfg.Fallbacks = []*pgconn.FallbackConfig{{Host: "pg4", Port: 5432, TLSConfig: v.all[1].cfg.TLSConfig}}
	}, "warning several-hosts pg2: The DSN of a replica names 2 hosts."},
	{"several servers", func(v *view) {
		v.all[1].through = through{servers: []identity{{1001, "pg2"}, {1002, ""}}, tries: 8}
	}, "warning several-servers pg2: 8 connections reached 2 servers: pg2, the one started at 0."},
	{"pooler", func(v *view) { v.all[1].through.pooler = true }, "notice pooler-session-mode pg2"},
	{"pooler that shares", func(v *view) { v.all[1].through.pooler, v.all[1].through.shared = true, true }, "warning pooler-transaction-mode pg2"},
	{"pooler of the primary", func(v *view) { v.all[0].through.pooler, v.all[0].through.shared = true, true }, "warning pooler-transaction-mode primary"},
	{"clock ahead", func(v *view) { v.change(1, func(_ int, m *moment) { m.Clock += 7 }) }, "warning clock-skew pg2: Its clock is at least 7.0 s ahead of this machine's."},
	{"clock behind", func(v *view) { v.change(0, func(_ int, m *moment) { m.Clock -= 3 }) }, "warning clock-skew primary: Its clock is at least 3.0 s behind this machine's."},
	{"slow answers say nothing of clocks", func(v *view) {
		v.change(1, func(_ int, m *moment) { m.ended = m.began.Add(8 * time.Second); m.Clock += 7 })
	}, ""},
	{"one quick answer is enough", func(v *view) {
		v.change(1, func(i int, m *moment) {
			if i != 5 {
				m.ended = m.began.Add(8 * time.Second)
			}
		})
	}, ""},
	{"denied", func(v *view) {
		why := "permission denied for function pg_control_system (SQLSTATE 42501)"
		v.all[1].refused = []refusal{{"the sample of a server", "42501", why, true}, {"what a new connection asks", "42501", why, true}}
	}, `problem question-refused pg2: User "shop" may not ask for the sample of a server: permission denied for function pg_control_system (SQLSTATE 42501).`},
	{"denied to the doctor", func(v *view) {
		v.all[1].refused = []refusal{{"pg_replication_slots", "42501", "permission denied for view pg_replication_slots (SQLSTATE 42501)", false}}
	}, "notice question-refused pg2"},
	{"slow", func(v *view) { v.all[0].refused = []refusal{{"the catalogue", "", "no answer within 5s", true}} },
		"problem question-refused primary: The question for the catalogue failed: no answer within 5s."},
	{"no nudge", func(v *view) { v.all[0].about.Emit = false }, "notice question-refused primary: may not write the small message"},
	{"no pg_monitor", func(v *view) { v.all[2].about.Monitor = false }, `notice monitor-role-missing pg3: User "shop" is not in pg_monitor`},

	// Roles and histories.
	{"promoted", func(v *view) {
		v.all[1].about.Recovery, v.all[1].sample.Timeline = false, 4
		v.change(1, func(_ int, m *moment) { m.Recovery = false })
	}, "problem replica-is-primary pg2: on timeline 4, and the primary's is 3. There are two primaries."},
	{"swapped", func(v *view) {
		v.all[0].about.Recovery, v.all[1].about.Recovery = true, false
		v.change(0, func(_ int, m *moment) { m.Recovery = true })
		v.change(1, func(_ int, m *moment) { m.Recovery = false })
	}, "problem replica-is-primary pg2; problem primary-in-recovery primary"},
	{"two hosts are primaries", func(v *view) {
		other := *v.all[0]
		other.host, other.about.Started, other.sample.Timeline = "pg9:5432", 77, 2
		v.all = append(v.all, &other)
	}, "problem two-primaries primary: (timeline 3) and pg9:5432 (timeline 2) are both primaries."},
	{"two hosts are one", func(v *view) {
		other := *v.all[0]
		v.all = append(v.all, &other)
	}, ""},
	{"the primary again", func(v *view) {
		v.all[1].about = v.all[0].about
		v.all[1].sample = v.all[0].sample
	}, "problem same-server pg2: It is the same server as primary."},
	{"the primary after a failover, of several hosts", func(v *view) {
		v.all[0].host = "pg2:5432"
		v.all[1].about, v.all[1].sample = v.all[0].about, v.all[0].sample
	}, "warning same-server pg2"},
	{"wants another role", func(v *view) {
		v.all[1].dialed = errors.New("read only connection")
		v.all[1].cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}, "problem unreachable pg2: cannot be reached: read only connection."},
	{"a replica twice", func(v *view) { v.all[2].about.Started, v.all[2].about.Cluster = 1001, "pg2" }, "warning same-server pg3: It is the same server as pg2."},
	{"foreign", func(v *view) {
		v.all[1].sample.System = 9999
		v.change(1, func(_ int, m *moment) { m.Replay = 1 })
	}, "problem foreign-system pg2: Its system identifier is 9999, and the primary's is 7301."},
	{"receives another timeline", func(v *view) { v.all[1].sample.ReceivedTimeline = 2 }, "problem timeline-differs pg2: It receives timeline 2, and the primary writes timeline 3."},
	{"replayed another timeline", func(v *view) { v.all[1].sample.ReceivedTimeline, v.all[1].sample.ControlTimeline = 0, 4 }, "problem timeline-differs pg2: It has replayed timeline 4"},
	{"timeline is hidden", func(v *view) { v.all[1].sample.ReceivedTimeline, v.all[1].sample.ControlTimeline = 0, 2 }, "warning timeline-unproven pg2: Its control file proves timeline 2"},
	{"control file is late", func(v *view) { v.all[1].sample.ControlTimeline = 2 }, ""},
	{"ahead", func(v *view) { v.change(1, func(_ int, m *moment) { m.Replay += 1 << 30 }) }, "problem replica-ahead pg2"},
	{"old", func(v *view) {
		for _, f := range v.all {
			f.about.Number, f.about.Version = 110022, "11.22"
		}
	}, "problem version-unsupported primary; problem version-unsupported pg2; problem version-unsupported pg3: It is PostgreSQL 11.22; 12 is the oldest that can work."},
	{"other majors", func(v *view) { v.all[1].about.Number, v.all[1].about.Version = 170010, "17.10" },
		"problem versions-differ pg2: It is PostgreSQL 17.10, and the primary is 15.18."},
	{"an older major", func(v *view) { v.all[1].about.Number, v.all[1].about.Version = 140020, "14.20" },
		"problem versions-differ pg2: It is PostgreSQL 14.20, and the primary is 15.18.; notice version-untested pg2: It is PostgreSQL 14."},
	{"a newer major", func(v *view) { v.all[1].about.Number, v.all[1].about.Version = 190001, "19.1" },
		"problem versions-differ pg2: It is PostgreSQL 19.1, and the primary is 15.18.; notice version-untested pg2: It is PostgreSQL 19."},
	{"other minors", func(v *view) { v.all[1].about.Number, v.all[1].about.Version = 150012, "15.12" }, "notice minor-versions-differ pg2: It is PostgreSQL 15.12"},

	// Replay.
	{"behind", func(v *view) { v.change(1, func(_ int, m *moment) { m.Replay -= 2_500_000 }) },
		"warning replica-behind pg2: It is 2500 kB behind, 2.5 s at most. MaxLag is 2s."},
	{"behind for a while", func(v *view) {
		v.change(1, func(i int, m *moment) {
			if 6 <= i && i <= 13 {
				m.Replay = 1_000_000_000 + 6*500_000
			}
		})
	}, "warning replica-behind pg2: It was 3.0 s behind while it was watched, and is 0 bytes behind now. MaxLag is 2s."},
	{"a little behind", func(v *view) { v.change(1, func(_ int, m *moment) { m.Replay -= 1_500_000 }) }, ""},
	{"falling behind", func(v *view) { v.change(1, func(i int, m *moment) { m.Replay -= lsn.LSN(i) * 250_000 }) },
		"problem replica-behind pg2: It is 5000 kB behind, 5.0 s at most, and that grows."},
	{"stands still", func(v *view) { v.change(1, func(_ int, m *moment) { m.Replay = 900_000_000 }) },
		"problem replica-behind pg2: It is 110 MB behind, and older than the 10s that it was watched for, and that grows."},
	{"a position inside a record on a quiet primary", func(v *view) {
		v.change(0, func(_ int, m *moment) { m.Flush, m.Insert = 1_000_000_100, 1_000_000_100 })
		for _, i := range []int{1, 2} {
			v.change(i, func(_ int, m *moment) { m.Replay, m.Receive = 1_000_000_000, 1_000_000_100 })
		}
	}, ""},
	{"no receiver", func(v *view) { v.change(1, func(_ int, m *moment) { m.Receiver = false }) },
		"problem cut-off pg2: No WAL receiver runs (pg_stat_replication of the primary has 2 rows). It is 0 bytes behind"},
	{"a receiver that receives nothing", func(v *view) {
		v.change(1, func(_ int, m *moment) { m.Replay, m.Receive = 999_000_000, 999_000_000 })
	}, "problem cut-off pg2: A WAL receiver runs, and has received nothing in 10s, while the primary is 11 MB further"},
	{"from an archive", func(v *view) {
		v.all[1].set("restore_command", "cp", "configuration file")
		v.change(1, func(_ int, m *moment) { m.Receiver = false })
	}, "warning fed-from-archive pg2"},
	{"from an archive alone, which gets a file now and then", func(v *view) {
		v.all[1].set("restore_command", "cp", "configuration file")
		v.all[1].set("primary_conninfo", "", "default")
		v.change(1, func(_ int, m *moment) { m.Receiver, m.Receive, m.Replay = false, 0, 900_000_000 })
	}, "warning fed-from-archive pg2: No WAL receiver runs"},
	{"an archive that has nothing", func(v *view) {
		v.all[1].set("restore_command", "cp", "configuration file")
		v.change(1, func(_ int, m *moment) { m.Receiver, m.Replay = false, 999_000_000 })
	}, "problem cut-off pg2"},
	{"cascade", func(v *view) {
		v.all[0].standbys = v.all[0].standbys[:1]
		v.all[2].receiver = &receiver{3, "pg2.internal", 5432}
	}, "notice cascading pg3: It receives from pg2.internal:5432"},
	{"standbys with other names", func(v *view) { v.all[0].standbys = []standby{{"a", "", ""}, {"b", "", ""}} }, ""},
	{"paused", func(v *view) { v.change(2, func(_ int, m *moment) { m.Paused, m.Replay = true, 1_000_000_000 }) },
		"problem replay-paused pg3: Replay is paused. It is 10 MB behind, 10.0 s at most."},
	{"delayed", func(v *view) { v.all[1].set("recovery_min_apply_delay", "3600000", "configuration file") }, "problem apply-delay pg2: recovery_min_apply_delay is 1h0m0s."},
	{"delayed a little", func(v *view) { v.all[1].set("recovery_min_apply_delay", "500", "configuration file") }, "warning apply-delay pg2"},
	{"queries stop replay", func(v *view) { v.all[1].set("max_standby_streaming_delay", "-1", "configuration file") }, "warning standby-delay pg2"},
	{"the default", func(v *view) {
		v.all[1].set("max_standby_streaming_delay", "30000", "default")
		v.all[1].set("hot_standby_feedback", "off", "default")
	}, "notice standby-delay pg2: max_standby_streaming_delay is 30s; notice feedback-off pg2"},
	{"conflicts", func(v *view) { v.all[1].conflicts = map[string]int64{"snapshot": 12, "lock": 3, "deadlock": 0} },
		"notice conflicts pg2: Replay has cancelled 15 queries in this database since the statistics were reset: snapshot 12, lock 3."},
	{"old transactions", func(v *view) {
		v.all[0].idle = []transaction{{41, "etl", "idle in transaction", 4000}, {42, "", "active", 100}}
	}, `warning long-transaction primary: 2 transactions are older than 1m0s, the oldest (pid 41, user "etl", idle in transaction) for 4000.0 s.`},
	{"lower settings", func(v *view) { v.all[1].set("max_connections", "50", "configuration file") },
		"problem standby-settings-lower pg2: Lower than on the primary: max_connections 50 (the primary's is 100)."},

	// WAL and commits.
	{"wal_level", func(v *view) { v.all[0].set("wal_level", "minimal", "configuration file") }, "problem wal-level-minimal primary"},
	{"senders", func(v *view) { v.all[0].set("max_wal_senders", "2", "configuration file") }, "warning wal-senders-used-up primary: All 2 of max_wal_senders are in use."},
	{"nothing is kept", func(v *view) { v.all[0].set("wal_keep_size", "0", "default") }, "notice wal-not-kept primary: 2 standbys stream without a slot"},
	{"slots keep", func(v *view) {
		v.all[0].set("wal_keep_size", "0", "default")
		v.all[0].slots = []slot{{"a", true, "reserved", 0}, {"b", true, "reserved", 0}}
	}, ""},
	{"an archive keeps", func(v *view) {
		v.all[0].set("wal_keep_size", "0", "default")
		v.all[0].set("archive_mode", "on", "configuration file")
	}, ""},
	{"slots", func(v *view) {
		v.all[0].slots = []slot{{"pg9", false, "extended", 42_000_000_000}, {"debezium", false, "lost", 0}}
		v.all[2].slots = []slot{{"cascade", false, "reserved", 17}}
	}, `problem slot-inactive primary: Replication slot "debezium" is not in use and holds 0 bytes of WAL. Its wal_status is lost.; ` +
		`warning slot-inactive primary: holds 42 GB of WAL. max_slot_wal_keep_size is -1; warning slot-inactive pg3`},
	{"archiving fails", func(v *view) { v.all[0].archiver = archiver{12, "00000003000000000000002A"} },
		"warning archive-failing primary: 00000003000000000000002A failed, nothing was archived since, and 12 attempts failed in all."},
	{"asynchronous", func(v *view) { v.all[0].sample.AsyncCommit = true }, "notice async-commit primary"},
	{"no synchronous standby", func(v *view) { v.all[0].set("synchronous_standby_names", "ANY 2 (pg2, pg3)", "configuration file") },
		`problem sync-standby-missing primary: synchronous_standby_names is "ANY 2 (pg2, pg3)", which asks for 2; 0 of the standbys that stream count.`},
	{"a synchronous standby", func(v *view) {
		v.all[0].set("synchronous_standby_names", "pg2, pg3", "configuration file")
		v.all[0].standbys[0].Sync = "sync"
	}, ""},
	{"a synchronous standby that is hidden", func(v *view) {
		v.all[0].set("synchronous_standby_names", "pg2", "configuration file")
		v.all[0].about.Monitor = false
	}, "notice monitor-role-missing primary"},
	{"nobody waits", func(v *view) {
		v.all[0].set("synchronous_standby_names", "pg9", "configuration file")
		v.all[0].set("synchronous_commit", "local", "configuration file")
	}, ""},
	{"remote_apply", func(v *view) { v.all[0].set("synchronous_commit", "remote_apply", "configuration file") }, "notice remote-apply primary: it has no effect"},

	// Connections and sessions.
	{"too many", func(v *view) { v.Instances = 2 }, "problem connections-exceeded pg2: 2 processes of 64 + 1 may open 130 connections, and it takes 97 (max_connections 100 less 3 reserved).; problem connections-exceeded pg3"},
	{"too many for the primary", func(v *view) { v.PrimaryPool = 96 }, "problem connections-exceeded primary: 1 process of 96 + 2 may open 98 connections"},
	{"busy", func(v *view) { v.all[1].connections = 80 }, "warning connections-busy pg2: 80 of 97 connections are in use."},
	{"read-only", func(v *view) { v.all[0].set("default_transaction_read_only", "on", "database") },
		"problem read-only-default primary: default_transaction_read_only is on (set for the database: role shop, database shop)."},
	{"read-only replicas are no news", func(v *view) { v.all[1].set("default_transaction_read_only", "on", "client") }, ""},
	{"serializable", func(v *view) { v.all[1].serializable = true }, "problem serializable-default pg2"},
	{"timeouts", func(v *view) {
		for _, f := range v.all {
			f.set("statement_timeout", "30000", "configuration file")
			f.set("lock_timeout", "1000", "client")
			f.set("idle_session_timeout", "60000", "user")
		}
	}, "warning idle-session-timeout primary; warning idle-session-timeout pg2; warning idle-session-timeout pg3: idle_session_timeout is 1m0s (set for the role: role shop, database shop).; " +
		"notice session-timeouts primary: statement_timeout is 30s (set by the configuration file).; notice session-timeouts pg2; notice session-timeouts pg3"},
	{"other timeouts", func(v *view) { v.all[1].set("statement_timeout", "5000", "client") },
		"notice session-timeouts pg2: statement_timeout is 5s here, and without limit on the primary."},
}

func TestJudge(t *testing.T) {
	for _, c := range judgedCases {
		t.Run(c.name, func(t *testing.T) {
			v := healthyView(t)
			c.harm(v)
			if v.primary != nil && v.primary.about.Recovery {
				v.primary = nil
				v.choose()
			}
			compare(t, c.want, v.judge())
		})
	}
}

// compare matches findings with what was wanted: parts with semicolons between them,
// in the order of a report.
func compare(t *testing.T, want string, findings []Finding) {
	t.Helper()
	wanted := []string{}
	if want != "" {
		wanted = strings.Split(want, "; ")
	}
	// A text may hold a semicolon of its own.
	for i := len(wanted) - 1; i > 0; i-- {
		if word, _, _ := strings.Cut(wanted[i], " "); word != "problem" && word != "warning" && word != "notice" {
			wanted[i-1] += "; " + wanted[i]
			wanted = append(wanted[:i], wanted[i+1:]...)
		}
	}
	var got []string
	for _, f := range sorted(findings) {
		if f.Severity == OK {
			assert.NotEmpty(t, f.What)
			continue
		}
		assert.NotEmpty(t, f.Why, f.ID)
		assert.NotEmpty(t, f.Remedy, f.ID)
		got = append(got, strings.TrimSpace(fmt.Sprintf("%v %s %s", f.Severity, f.ID, f.Server))+": "+f.What)
	}
	require.Len(t, got, len(wanted), "%s", strings.Join(got, "\n"))
	for i := range got {
		head, what, _ := strings.Cut(wanted[i], ": ")
		assert.True(t, strings.HasPrefix(got[i], head+": "), "%s\nwant %s", got[i], wanted[i])
		assert.Contains(t, got[i], what)
	}
}

// TestEveryKindIsFound keeps a kind of finding from being documented and never found.
func TestEveryKindIsFound(t *testing.T) {
	seen := map[ID]bool{DSNInvalid: false, KindsDiffer: false, AppUnreachable: false}
	note := func(findings []Finding) {
		for _, f := range findings {
			seen[f.ID] = true
		}
	}
	for _, c := range judgedCases {
		v := healthyView(t)
		c.harm(v)
		note(v.judge())
	}
	for _, c := range applicationCases {
		note(judgeApplication(c.application()))
	}
	for _, c := range sqlServerCases {
		_, findings := sqlServer{}.examine(context.Background(), c.topology())
		note(findings)
	}
	for _, c := range sqlGroupCases {
		v := sqlGroup(t)
		c.harm(t, v, v.all[0], v.all[1])
		note(v.judge())
	}
	note([]Finding{badDSN("x")})
	_, mixed := kindOf(Topology{Primary: Server{DSN: "host=pg1"}, Replicas: []Server{{"x", "sqlserver://x"}}})
	note(mixed)
	bad, _ := examineApplication(context.Background(), Topology{Status: "no URL"})
	note(bad)
	said := map[string]ID{}
	for _, k := range Kinds() {
		assert.True(t, seen[k.ID], "nothing finds %s", k.ID)
		assert.NotEmpty(t, k.Why, k.ID)
		assert.Empty(t, said[k.Why], "%s says the same", k.ID)
		said[k.Why] = k.ID
		delete(seen, k.ID)
	}
	assert.Empty(t, seen, "not in Kinds")
}

func TestWantedStandbys(t *testing.T) {
	for names, want := range map[string]int{
		"pg2": 1, "pg2, pg3": 1, "*": 1, "2 (pg2, pg3)": 2, "FIRST 2 (a, b, c)": 2, "ANY 3 (*)": 3, "first 1(a)": 1, "(a)": 1, `"1 (x" , b`: 1,
	} {
		assert.Equal(t, want, wantedStandbys(names), names)
	}
}

func TestHostsOf(t *testing.T) {
	cfg, err := pgx.ParseConfig("postgres://shop@pg1:5433,pg2/shop?sslmode=prefer&target_session_attrs=read-write")
	require.NoError(t, err)
	hosts := hostsOf(cfg)
	require.Len(t, hosts, 2)
	assert.Equal(t, []string{"pg1:5433", "pg2:5432"}, []string{addressOf(hosts[0]), addressOf(hosts[1])})
	for _, h := range hosts {
		require.Len(t, h.Fallbacks, 1, "with TLS and without")
		assert.Equal(t, h.Host, h.Fallbacks[0].Host)
		assert.Nil(t, h.ValidateConnect)
	}
}

func TestNothingSteersTheTerminal(t *testing.T) {
	r := Report{Servers: []Examined{{Name: "pg2\x1b[2J", Answered: true, Version: "15\u009b", Is: "standby"}},
		Findings: []Finding{found(AppServer, Warning, "pg2", "a\x07", "The application calls it %s.", "\x1b]0;x\x07")}}
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	for _, char := range text.String() {
		assert.True(t, char == '\n' || char >= ' ' && (char < 0x7f || char > 0x9f), "%U", char)
	}
}
