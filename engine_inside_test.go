package readsplit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

// transact is a SQL Server on paper: what it answers to the questions of package lsn.
type transact struct {
	name      string
	readOnly  bool
	delayed   int
	started   string
	now       time.Time
	group     string // empty: the database is in no availability group
	primary   bool
	suspended bool
	state     int
	sync      int
	commit    string
	end       string
	recovery  string
	leader    string
	refused   error // of the views
	marker    string
	reign     string
	n         int
	asked     []string
}

const groupID = "6f9619ff-8b86-d011-b42d-00c04fc964ff"

func node(name string) *transact {
	return &transact{
		name: name, readOnly: true, started: "2026-03-01T08:00:00.123", group: groupID, sync: 1, commit: "45000000030400001",
		end: "45000000031200001", recovery: "44000000000100001", leader: "AG1", marker: groupID, reign: groupID, n: 1,
		now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
}

func leader(name string) *transact {
	s := node(name)
	s.readOnly, s.primary, s.leader = false, true, name
	return s
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *transact) ask(_ context.Context, query string) (string, error) {
	s.asked = append(s.asked, query)
	switch query {
	case lsn.SQLServerRunSQL:
		updateability := "READ_WRITE"
		if s.readOnly {
			updateability = "READ_ONLY"
		}
		return fmt.Sprintf("i1 %s %s %d %s %s/my shop", updateability, s.started, s.delayed, s.now.Format("2006-01-02T15:04:05.0000000"), s.name), nil
	case lsn.SQLServerStateSQL:
		switch {
		case s.refused != nil:
			return "", s.refused
		case s.group == "":
			return "", sql.ErrNoRows
		}
		return fmt.Sprintf("h1 %s %d %d %d %d %s %s %s %s", s.group, bit(s.primary), bit(s.suspended), s.state, s.sync, s.commit, s.end, s.recovery, s.leader), nil
	case lsn.SQLServerMarkSQL("dbo.marker"):
		s.n++
	case lsn.SQLServerMarkedSQL("dbo.marker"):
	default:
		return "", fmt.Errorf("what is %q?", query)
	}
	if s.marker == "" {
		return "", sql.ErrNoRows
	}
	return fmt.Sprintf("n2 %s %s %d", s.marker, s.reign, s.n), nil
}

type numbered struct{ number int32 }

func (e numbered) Error() string         { return fmt.Sprintf("mssql: error %d", e.number) }
func (e numbered) SQLErrorNumber() int32 { return e.number }

// sqlServers returns the engines of a primary and a replica, and what they warn of.
func sqlServers(c lsn.SQLServer) (p, r engine, warned *[]string) {
	warned = new([]string)
	d := newSQLServer(Config{SQLServer: c}.withDefaults(), func(format string, args ...any) {
		*warned = append(*warned, fmt.Sprintf(format, args...))
	})
	return d.primary(), d.replica(Replica{Name: "ag2"}), warned
}

func sampled(t *testing.T, e engine, s *transact) lsn.Sample {
	t.Helper()
	sample, err := e.sample(t.Context(), s.ask)
	require.NoError(t, err)
	return sample
}

// follows reports whether a sample of a replica is of the history of the primary's.
func follows(p, r lsn.Sample) bool {
	return r.System == p.System && r.ReceivedTimeline == p.Timeline && p.Timeline > lsn.StandsStill
}

func TestSQLServerPositions(t *testing.T) {
	p, r, warned := sqlServers(lsn.SQLServer{})
	ag1, ag2 := leader("AG1"), node("AG2")
	ps, rs := sampled(t, p, ag1), sampled(t, r, ag2)
	at, err := lsn.ParseSQLServerLSN("45000000030400001")
	require.NoError(t, err)
	assert.False(t, ps.InRecovery)
	assert.Equal(t, at, ps.Flush)
	assert.Equal(t, at, ps.Insert)
	assert.Greater(t, ps.End, at, "a secondary may be beyond what the primary has acknowledged")
	assert.True(t, rs.InRecovery)
	assert.Equal(t, at, rs.Replay)
	assert.True(t, follows(ps, rs))
	assert.NotEqual(t, ps.Server, rs.Server)

	ag1.commit = "45000000031200002"
	c, same, err := p.capture(t.Context(), ag1.ask)
	require.NoError(t, err)
	assert.True(t, same)
	assert.Greater(t, c.Flush, at)
	replay, standby, err := r.position(t.Context(), ag2.ask)
	require.NoError(t, err)
	assert.True(t, standby)
	assert.Equal(t, at, replay)
	greeted, err := r.greet(t.Context(), ag2.ask)
	require.NoError(t, err)
	assert.Equal(t, lsn.Connect{Server: rs.Server, InRecovery: true, Replay: at}, greeted)
	assert.Empty(t, *warned)

	// The cluster cannot be asked for the primary's name: it is the one that it was,
	// until it begins anew.
	ag1.leader = "-"
	assert.Equal(t, ps.History(), ref(sampled(t, p, ag1)).History())
	ag1.recovery = "46000000000100001"
	s := sampled(t, p, ag1)
	assert.NotEqual(t, ps.System, s.System, "no position of the group's")
	assert.Len(t, *warned, 1)
}

func ref(s lsn.Sample) *lsn.Sample { return &s }

// A secondary whose log nobody moves, or that follows another primary, or nobody knows
// whom, proves nothing; its run and its position stay what they were.
func TestSQLServerSecondaryThatDoesNotFollow(t *testing.T) {
	p, r, _ := sqlServers(lsn.SQLServer{})
	ag1 := leader("AG1")
	ps := sampled(t, p, ag1)
	before := sampled(t, r, node("AG2"))
	for what, change := range map[string]func(*transact){
		"suspended":         func(s *transact) { s.suspended = true },
		"restoring":         func(s *transact) { s.state = 1 },
		"not synchronizing": func(s *transact) { s.sync = 0 },
		"reverting":         func(s *transact) { s.sync = 3 },
		"initializing":      func(s *transact) { s.sync = 4 },
		"another primary":   func(s *transact) { s.leader = "AG3" },
		"nobody knows":      func(s *transact) { s.leader = "-" },
	} {
		ag2 := node("AG2")
		change(ag2)
		s := sampled(t, r, ag2)
		assert.False(t, follows(ps, s), what)
		assert.Equal(t, before.Server, s.Server, what)
		assert.Equal(t, before.Replay, s.Replay, what)
		assert.Equal(t, what == "suspended", s.Paused, what)
		if what != "another primary" && what != "nobody knows" {
			_, standby, err := r.position(t.Context(), ag2.ask)
			require.NoError(t, err)
			assert.False(t, standby, "%s: it is asked in full", what)
		}
	}
}

// Positions of before a change of primary are of another history, also when the same
// server is the primary again.
func TestSQLServerChangeOfPrimary(t *testing.T) {
	p, r, _ := sqlServers(lsn.SQLServer{})
	ag1 := leader("AG1")
	first := sampled(t, p, ag1)

	// A connection that survives is to a secondary now.
	ag1.primary, ag1.readOnly = false, true
	_, same, err := p.capture(t.Context(), ag1.ask)
	require.NoError(t, err)
	assert.False(t, same)
	assert.True(t, sampled(t, p, ag1).InRecovery)

	ag2 := leader("AG2")
	ag2.recovery = "45000000031200001"
	second := sampled(t, p, ag2)
	assert.Equal(t, first.System, second.System)
	assert.NotEqual(t, first.History(), second.History())
	ag1.leader = "AG2"
	assert.True(t, follows(second, sampled(t, r, ag1)))

	ag1 = leader("AG1")
	ag1.recovery = "47000000000100001"
	third := sampled(t, p, ag1)
	assert.Equal(t, first.System, third.System)
	assert.NotEqual(t, first.History(), third.History())
	assert.False(t, follows(third, sampled(t, r, &transact{readOnly: true, name: "AG2", started: ag1.started, group: groupID, sync: 1, commit: "1000000000100001", end: "-", recovery: "-", leader: "AG2", now: ag1.now})))
}

// Where positions cannot be had it is said once, and a replica counts as far behind as
// it is said to be.
func TestSQLServerWithoutPositions(t *testing.T) {
	for what, change := range map[string]func(*transact){
		"no permission VIEW SERVER STATE": func(s *transact) { s.refused = numbered{300} },
		"VIEW SERVER PERFORMANCE STATE":   func(s *transact) { s.refused = numbered{297} },
		"no availability group":           func(s *transact) { s.group = "" },
		"Azure SQL Database":              func(s *transact) { s.refused = numbered{208} },
		"beyond what can be compared":     func(s *transact) { s.commit = "9999999999999999999999999" },
		"last_commit_lsn":                 func(s *transact) { s.commit = "-" },
		"DELAYED_DURABILITY":              func(s *transact) { s.delayed = 1 },
		"its own name":                    func(s *transact) { s.leader = "-" },
	} {
		t.Run(what, func(t *testing.T) {
			p, r, warned := sqlServers(lsn.SQLServer{})
			ag1, ag2 := leader("AG1"), node("AG2")
			change(ag1)
			change(ag2)
			first := sampled(t, p, ag1)
			assert.Equal(t, first.History(), ref(sampled(t, p, ag1)).History())
			require.Len(t, *warned, 1)
			assert.Contains(t, (*warned)[0], what)
			assert.Equal(t, uint32(lsn.ClockTimeline), first.Timeline)

			replica := sampled(t, r, ag2)
			assert.True(t, replica.TellsNoPosition())
			assert.Equal(t, first.System, replica.System)
			_, same, err := p.capture(t.Context(), ag1.ask)
			require.NoError(t, err)
			assert.True(t, same)
		})
	}

	_, _, err := func() (engine, engine, error) {
		p, r, _ := sqlServers(lsn.SQLServer{})
		ag1 := leader("AG1")
		ag1.refused = errors.New("the connection is broken")
		_, err := p.sample(t.Context(), ag1.ask)
		return p, r, err
	}()
	require.ErrorContains(t, err, "broken", "another error is none about positions")
}

// Who may not ask is not asked all the time.
func TestSQLServerAsksSeldomInVain(t *testing.T) {
	p, _, _ := sqlServers(lsn.SQLServer{})
	ag1 := leader("AG1")
	ag1.refused = numbered{300}
	for range 5 {
		sampled(t, p, ag1)
	}
	views := 0
	for _, q := range ag1.asked {
		if q == lsn.SQLServerStateSQL {
			views++
		}
	}
	assert.Equal(t, 1, views)
}

// A replica without positions, where the primary has them, proves nothing, and is not
// taken for another's.
func TestSQLServerReplicaWithoutPositions(t *testing.T) {
	p, r, warned := sqlServers(lsn.SQLServer{})
	ps := sampled(t, p, leader("AG1"))
	ag2 := node("AG2")
	ag2.refused = numbered{300}
	s := sampled(t, r, ag2)
	assert.Equal(t, ps.System, s.System)
	assert.True(t, s.TellsNoPosition())
	sampled(t, r, ag2)
	require.Len(t, *warned, 1)
	assert.Contains(t, (*warned)[0], `"ag2"`)
}

func TestSQLServerMarker(t *testing.T) {
	p, r, warned := sqlServers(lsn.SQLServer{Marker: "dbo.marker"})
	ag1, ag2 := leader("AG1"), node("AG2")
	ag1.refused, ag2.refused = numbered{300}, numbered{300}
	first := sampled(t, p, ag1)
	assert.Equal(t, lsn.LSN(2), first.Flush, "each capture has a number of its own")
	c, same, err := p.capture(t.Context(), ag1.ask)
	require.NoError(t, err)
	assert.True(t, same)
	assert.Equal(t, lsn.LSN(3), c.Flush)
	ag2.n = 2
	s := sampled(t, r, ag2)
	assert.True(t, follows(first, s))
	assert.Equal(t, lsn.LSN(2), s.Replay)
	assert.Empty(t, *warned)

	ag2.marker = "" // the table is not there yet
	s = sampled(t, r, ag2)
	assert.True(t, s.TellsNoPosition())
	assert.Equal(t, first.System, s.System)
	assert.Len(t, *warned, 1)

	// Forced into its place, AG1 gives numbers out again that AG2 still shows.
	ag2.marker, ag2.n = groupID, 9
	ag1.reign = "7d1a2b3c-0000-0000-0000-000000000002"
	_, same, err = p.capture(t.Context(), ag1.ask)
	require.NoError(t, err)
	assert.False(t, same, "another history")
	again := sampled(t, p, ag1)
	assert.NotEqual(t, first.History(), again.History())
	s = sampled(t, r, ag2)
	assert.Equal(t, first.System, s.System, "of the same group")
	assert.False(t, follows(again, s))
	_, standby, err := r.position(t.Context(), ag2.ask)
	require.NoError(t, err)
	assert.False(t, standby, "asked in full")
	ag2.reign = ag1.reign
	assert.True(t, follows(again, sampled(t, r, ag2)))

	ag1.marker = ""
	_, err = p.sample(t.Context(), ag1.ask)
	require.ErrorContains(t, err, "Config.SQLServer.Marker")
}
