package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

// numbered is an error of a server.
type numbered int32

func (n numbered) Error() string         { return "mssql: refused, and hidden is said." }
func (n numbered) SQLErrorNumber() int32 { return int32(n) }

// sqlGroup is a group with nothing to find: SQL1 is the primary, SQL2 and SQL3 follow.
func sqlGroup(t *testing.T) *sqlView {
	t.Helper()
	v := &sqlView{Topology: Topology{Watch: 4 * time.Second, MaxLag: 2 * time.Second}}
	start := time.Now()
	for i, name := range []string{"primary", "ag2", "ag3"} {
		dsn := fmt.Sprintf("sqlserver://shop:hidden@ag%d?database=shop", i+1)
		if i > 0 {
			dsn += "&ApplicationIntent=ReadOnly"
			v.Replicas = append(v.Replicas, Server{name, dsn})
		}
		f := &sqlFacts{name: name, primary: i == 0, dsn: dsn, timeout: time.Second, about: sqlAbout{version: "16.0.4135.4"}}
		f.pairs, _ = sqlPairs(dsn)
		f.tell(t, fmt.Sprintf("SQL%d", i+1), i == 0, "45000000030400001")
		f.names, f.tries = []string{f.run.Server}, 8
		v.all = append(v.all, f)
	}
	for i := range 5 {
		at := start.Add(time.Duration(i) * time.Second)
		r := sqlRound{}
		for _, f := range v.all {
			r[f] = sqlMoment{began: at, ended: at.Add(time.Millisecond), state: f.state}
		}
		v.rounds = append(v.rounds, r)
	}
	return v
}

// tell is what the server answers.
func (f *sqlFacts) tell(t *testing.T, server string, primary bool, commit string) {
	t.Helper()
	updateability, bit := "READ_ONLY", "0"
	if primary {
		updateability, bit = "READ_WRITE", "1"
	}
	var err error
	f.run, err = lsn.ParseSQLServerRun("i1 " + updateability + " 2026-01-02T03:04:05.123 0 2026-02-02T03:04:05.123 " + server + "/shop")
	require.NoError(t, err)
	f.state, err = lsn.ParseSQLServerState("h1 6F9619FF-8B86-D011-B42D-00C04FC964FF " + bit + " 0 0 2 " + commit + " " + commit + " 45000000030000001 SQL1")
	require.NoError(t, err)
	f.sample = lsn.SQLServerSample(f.run, f.state)
}

// stays lets a replica show one position while the primary goes on: until when is said in
// rounds.
func (v *sqlView) stays(t *testing.T, f *sqlFacts, rounds int) {
	t.Helper()
	next := *v.all[0]
	next.tell(t, "SQL1", true, "45000000030400009")
	for i, r := range v.rounds {
		m := r[v.all[0]]
		m.state = next.state
		r[v.all[0]] = m
		for _, x := range v.all[1:] {
			if x == f && i < rounds {
				continue
			}
			m := r[x]
			m.state.Commit = next.state.Commit
			r[x] = m
		}
	}
}

func silently(f *sqlFacts, err error) { f.none, _ = silent(err) }

type sqlGroupCase struct {
	name string
	harm func(t *testing.T, v *sqlView, primary, ag2 *sqlFacts)
	want string
}

var sqlGroupCases = []sqlGroupCase{
	{"healthy", func(*testing.T, *sqlView, *sqlFacts, *sqlFacts) {}, ""},
	{"stays behind", func(t *testing.T, v *sqlView, _, ag2 *sqlFacts) { v.stays(t, ag2, 9) },
		"problem replica-behind ag2: It is older than the 4s that it was watched for. MaxLag is 2s."},
	{"was behind", func(t *testing.T, v *sqlView, _, ag2 *sqlFacts) { v.stays(t, ag2, 4) },
		"warning replica-behind ag2: It was 3.0 s behind while it was watched, and is not now."},
	{"watched for less than MaxLag", func(t *testing.T, v *sqlView, _, ag2 *sqlFacts) { v.stays(t, ag2, 9); v.Watch = time.Second },
		"warning replica-behind ag2: It is older than the 1s"},
	{"not watched", func(t *testing.T, v *sqlView, _, ag2 *sqlFacts) {
		v.stays(t, ag2, 9)
		v.Watch, v.rounds = Off, v.rounds[:1]
	}, "warning replica-behind ag2: was not watched"},
	{"lost", func(_ *testing.T, _ *sqlView, _, ag2 *sqlFacts) { ag2.lost = "severed" }, "problem unreachable ag2: then no longer: severed"},
	{"loop", func(_ *testing.T, _ *sqlView, primary, ag2 *sqlFacts) {
		ag2.dialed = fmt.Errorf("%w within 1s", errNoAnswer)
		w := *primary
		w.routes = sqlRoutes{known: true, lists: 1, urls: map[string]string{"SQL2": "TCP://listener:1433", "SQL1": ""}}
		ag2.without = &w
	}, "problem routing-loop ag2: ag2 answers as SQL1 to a connection without ApplicationIntent=ReadOnly; with it, there is no answer within 1s. READ_ONLY_ROUTING_URL: SQL1 none, SQL2 TCP://listener:1433."},
	{"frozen", func(_ *testing.T, _ *sqlView, _, ag2 *sqlFacts) {
		ag2.dialed, ag2.without = fmt.Errorf("%w within 1s", errNoAnswer), &sqlFacts{dialed: errNoAnswer}
	}, "problem unreachable ag2: ag2 cannot be reached: no answer within 1s."},
	{"login", refuses(18456), `problem login-refused ag2: ag2 refuses the login: refused, and *** is said (error 18456).`},
	{"database", refuses(4060), "problem login-refused ag2: (error 4060)"},
	{"readers kept out", refuses(978), "problem secondary-not-readable ag2"},
	{"no secondary", refuses(982), "problem not-routed ag2: finds no secondary"},
	{"no quorum", refuses(988), "problem unreachable ag2: has no quorum"},
	{"connections used up", refuses(10928), "problem connections-used-up ag2"},
	{"no routing list", func(_ *testing.T, _ *sqlView, primary, ag2 *sqlFacts) {
		lead(ag2, primary)
		ag2.routes = sqlRoutes{known: true}
	}, "problem not-routed ag2: leads to SQL1, the primary, which has no routing list"},
	{"routed to the primary", func(_ *testing.T, _ *sqlView, primary, ag2 *sqlFacts) { lead(ag2, primary) },
		"problem replica-is-primary ag2: it led to SQL1, the primary"},
	{"another primary", func(t *testing.T, _ *sqlView, _, ag2 *sqlFacts) {
		ag2.tell(t, "SQL9", true, "45000000030400001")
		ag2.names[0] = "SQL9"
	},
		"problem replica-is-primary ag2: SQL9 is a primary, or in no availability group"},
	{"primary is set to read only", func(_ *testing.T, _ *sqlView, primary, _ *sqlFacts) { primary.run.ReadOnly = true },
		"problem primary-in-recovery primary: SQL1 is the primary, and its database is set READ_ONLY."},
	{"primary is a secondary", func(t *testing.T, _ *sqlView, primary, _ *sqlFacts) {
		primary.tell(t, "SQL4", false, "45000000030400001")
	},
		"problem primary-in-recovery primary: SQL4 is READ_ONLY"},
	{"several", func(_ *testing.T, _ *sqlView, _, ag2 *sqlFacts) { ag2.names = []string{"SQL2", "SQL4"} },
		"warning several-servers ag2: SQL2 and SQL4 answered in 8 connections"},
	{"several primaries", func(_ *testing.T, _ *sqlView, primary, _ *sqlFacts) { primary.names = []string{"SQL1", "SQL4"} },
		"problem several-servers primary: SQL1 and SQL4 answered in 8 connections"},
	{"twice", func(t *testing.T, _ *sqlView, _, ag2 *sqlFacts) {
		ag2.tell(t, "SQL3", false, "45000000030400001")
		ag2.names[0] = "SQL3"
	},
		"warning same-server ag3: It is SQL3, as ag2 is."},
	{"another database", func(_ *testing.T, _ *sqlView, _, ag2 *sqlFacts) { ag2.run.Database = "shop2" },
		`problem databases-differ ag2: It is connected to database "shop2", and the primary to "shop".`},
	{"another group", func(_ *testing.T, _ *sqlView, _, ag2 *sqlFacts) { ag2.sample.System++ }, "problem foreign-system ag2"},
	{"follows another", func(_ *testing.T, _ *sqlView, _, ag2 *sqlFacts) { ag2.sample.ReceivedTimeline++ },
		"problem timeline-differs ag2: It does not name SQL1 as the primary of its availability group."},
	{"suspended", func(_ *testing.T, _ *sqlView, _, ag2 *sqlFacts) {
		ag2.state.Suspended, ag2.state.Follows, ag2.detail.suspended = true, false, "SUSPEND_FROM_USER"
	}, "problem data-movement-suspended ag2: Data movement is suspended (SUSPEND_FROM_USER)."},
	{"reverting", func(_ *testing.T, _ *sqlView, _, ag2 *sqlFacts) {
		ag2.state.Follows, ag2.detail.database, ag2.detail.sync = false, "ONLINE", "REVERTING"
	},
		"problem not-synchronizing ag2: Its copy is ONLINE, and REVERTING."},
	{"no group", func(_ *testing.T, _ *sqlView, primary, _ *sqlFacts) { silently(primary, sql.ErrNoRows) },
		"warning positions-missing primary: in no availability group"},
	{"no permission", func(_ *testing.T, _ *sqlView, _, ag2 *sqlFacts) { silently(ag2, numbered(300)) },
		"warning positions-missing ag2: It tells no positions: the login may not see them (error 300)."},
	{"Azure", func(_ *testing.T, _ *sqlView, primary, _ *sqlFacts) { silently(primary, numbered(208)) }, "warning positions-missing primary: Azure"},
	{"range", func(_ *testing.T, _ *sqlView, primary, _ *sqlFacts) { silently(primary, lsn.ErrSQLServerRange) }, "warning positions-missing primary: beyond"},
	{"no commit", func(_ *testing.T, _ *sqlView, primary, _ *sqlFacts) { silently(primary, lsn.ErrSQLServerNoCommit) }, "warning positions-missing primary: last_commit_lsn"},
	{"refused", func(_ *testing.T, _ *sqlView, _, ag2 *sqlFacts) {
		ag2.refused = []refusal{{"its position", "", "too slow", true}, {"read-only routing", "", "no", false}}
	}, "problem question-refused ag2: its position failed: too slow; notice question-refused ag2: read-only routing failed: no"},
	{"delayed durability", func(_ *testing.T, _ *sqlView, primary, _ *sqlFacts) { primary.run.AsyncCommit = true }, "warning delayed-durability primary"},
	{"major", func(_ *testing.T, _ *sqlView, _, ag2 *sqlFacts) { ag2.about.version = "17.0.1.1" }, "warning versions-differ ag2: It is version 17.0.1.1, and the primary 16.0.4135.4."},
	{"minor", func(_ *testing.T, _ *sqlView, _, ag2 *sqlFacts) { ag2.about.version = "16.0.4125.3" }, "notice minor-versions-differ ag2"},
}

func refuses(number int32) func(*testing.T, *sqlView, *sqlFacts, *sqlFacts) {
	return func(_ *testing.T, _ *sqlView, _, ag2 *sqlFacts) { ag2.dialed = numbered(number) }
}

// lead lets a replica's connection string lead to the primary.
func lead(ag2, primary *sqlFacts) {
	ag2.run, ag2.state, ag2.sample, ag2.names = primary.run, primary.state, primary.sample, primary.names
}

func TestJudgeSQLServer(t *testing.T) {
	for _, c := range sqlGroupCases {
		t.Run(c.name, func(t *testing.T) {
			v := sqlGroup(t)
			c.harm(t, v, v.all[0], v.all[1])
			compare(t, c.want, v.judge())
		})
	}
	v := sqlGroup(t)
	l, ok := v.lagOf(v.all[1])
	require.True(t, ok)
	assert.Equal(t, sqlLag{known: true, times: 5}, l)
	_, other := silent(errors.New("severed"))
	require.Error(t, other)
}

// TestWithKey: what is set wins, in each form of a connection string.
func TestWithKey(t *testing.T) {
	u, err := url.Parse(withKey("sqlserver://u:a%40b@ag2/one?ApplicationIntent=ReadOnly&database=shop", "applicationintent", "ReadWrite"))
	require.NoError(t, err)
	assert.Equal(t, url.Values{"applicationintent": {"ReadWrite"}, "database": {"shop"}}, u.Query())
	assert.Equal(t, "u:a%40b@ag2/one", u.User.String()+"@"+u.Host+u.Path)
	for _, dsn := range []string{"server=ag2;ApplicationIntent=ReadOnly;", "odbc:server=ag2;ApplicationIntent={ReadOnly}"} {
		p, ok := sqlPairs(withKey(dsn, "applicationintent", "ReadWrite"))
		require.True(t, ok)
		assert.Equal(t, map[string]string{"server": "ag2", "applicationintent": "ReadWrite"}, p)
	}
}

// TestNoDriver: this program has none.
func TestNoDriver(t *testing.T) {
	assert.False(t, hasDriver())
	_, err := openSQLServer(goodPrimary, time.Second)
	require.ErrorIs(t, err, errMisread)
	_, findings := sqlServer{}.examine(context.Background(), sqlServerCases[0].topology())
	compare(t, "notice servers-not-asked: no driver named sqlserver is in this program", findings)
}
