package explain_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/explain"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/sqlclass"
)

var (
	noon    = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	history = lsn.History{System: 1, Timeline: 1}
)

// decided is a read of a session that needs 0/3000148, with one replica that has it
// and one whose replay is paused.
func decided() explain.Statement {
	replica := func(name string, at lsn.LSN) policy.Replica {
		return policy.Replica{
			Name: name, Role: policy.RoleStandby, Up: true, Sampled: noon.Add(-40 * time.Millisecond),
			Applied: lsn.Position{History: history, LSN: at}, ReplayedAt: noon.Add(-50 * time.Millisecond),
		}
	}
	s := &policy.Snapshot{Replicas: []policy.Replica{replica("pg2", 0x3000148), replica("pg3", 0x3000100)}}
	s.Replicas[1].Paused = true
	d := policy.NewDecider(policy.Rules{Limits: policy.Limits{MaxLag: 2 * time.Second, MaxSampleAge: time.Second}})
	trace := d.Consider(&policy.Query{Statement: policy.Read, Need: lsn.Position{History: history, LSN: 0x3000148}}, s, nil, noon)
	return explain.Statement{
		SQL: `SELECT * FROM "orders" WHERE user_id = $1`, Class: sqlclass.Read, Verb: sqlclass.Select,
		Why: "a select in which nothing writes or locks", Session: "must see 0/3000148",
		Servers: []string{"pg2"}, Reason: trace.Decision.Reason, Trace: trace,
	}
}

func ExampleReport() {
	fmt.Print(&explain.Report{
		Statements: []explain.Statement{decided()},
		Notes:      []string{"hooks are not called: AfterFind of Order"},
	})
	// Output:
	// SELECT * FROM "orders" WHERE user_id = $1
	//   class    read: a select in which nothing writes or locks
	//   session  must see 0/3000148
	//   request  ok:  statement, context, traffic, session
	//   pg2      chosen, 0 in flight
	//            ok:  untried, group, drained, role (standby), up, news (40ms old, at most 1s), ejected, single, lag (50ms, at most 2s), position (at 0/3000148, needs 0/3000148), slow_start
	//   pg3      behind_session
	//            no:  position behind_session (at 0/3000100, needs 0/3000148, replay paused)
	//            ok:  untried, group, drained, role (standby), up, news (40ms old, at most 1s), ejected, single, lag (50ms, at most 2s), slow_start
	//   result  pg2: caught_up
	//           The replica has replayed what the session must see and is within the bound on lag.
	// note: hooks are not called: AfterFind of Order
}

func TestStatementText(t *testing.T) {
	s := explain.Statement{
		Of: "preload Lines", Class: sqlclass.Read, Why: "GORM's own query", Resolver: "orders", Servers: []string{"pg2", "primary"},
		Reason: policy.ReasonBehindSession, Before: []string{"would wait up to 5ms for pg2 to reach 0/3000148"}, Notes: []string{"its text depends on rows"},
	}
	assert.Equal(t, "preload Lines\n"+
		"  class     read: GORM's own query\n"+
		"  resolver  orders\n"+
		"  first   would wait up to 5ms for pg2 to reach 0/3000148\n"+
		"  result  pg2 or primary: behind_session\n"+
		"          "+policy.ReasonBehindSession.Sentence()+"\n"+
		"          "+policy.ReasonBehindSession.Remedy()+"\n"+
		"  note    its text depends on rows\n", s.String())
	assert.Equal(t, "nothing would be run\n", (&explain.Report{}).String())
	failing := explain.Statement{SQL: "SELECT 1", Err: errors.New("refused")}
	assert.Equal(t, "SELECT 1\n  result  fails before it is sent: refused\n", failing.String())
}

func TestWhereAStatementRuns(t *testing.T) {
	for _, c := range []struct {
		servers          []string
		replica, primary bool
	}{
		{nil, false, false},
		{[]string{"primary"}, false, true},
		{[]string{"pg2"}, true, false},
		{[]string{"pg2", "pg3"}, true, false},
		{[]string{"pg2", "primary"}, false, false},
	} {
		s := explain.Statement{Servers: c.servers}
		assert.Equal(t, c.replica, s.Replica(), "%v", c.servers)
		assert.Equal(t, c.primary, s.Primary(), "%v", c.servers)
		for _, name := range c.servers {
			assert.True(t, s.MayRunOn(name))
		}
		assert.False(t, s.MayRunOn("pg9"))
	}
}
