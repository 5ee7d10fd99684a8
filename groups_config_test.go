package readsplit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/groups"
)

func (f fieldTest) described(t *testing.T) {
	base := newDB(t, f.c, inDatabase(f.database), configured(func(c *readsplit.Config) { c.Replicas[1].Groups = []string{"reports"} }))
	changed := newDB(t, f.c, inDatabase(f.database), configured(func(c *readsplit.Config) {
		c.Replicas[1].Groups = []string{"reports"}
		c.Groups = []groups.Group{{Name: "reports", Tables: []any{"counters"}}}
	}))
	of := func(d *testDB) map[string]int {
		found := map[string]int{}
		for range 40 {
			var server string
			require.NoError(t, d.WithContext(nobody()).Raw("SELECT current_setting('cluster_name') FROM counters LIMIT 1").Scan(&server).Error)
			found[server]++
		}
		return found
	}
	eventually(t, "both to serve", func() bool { return len(of(base)) == 2 })
	assert.Equal(t, map[string]int{"replica2": 40}, of(changed))
}

func (f fieldTest) reserved(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) {
		c.Replicas[1].Groups, c.Replicas[1].Reserved = []string{"reports"}, true
	})
	eventually(t, "both to serve", func() bool { return len(servers(t, base, nobody(), 40)) == 2 })
	assert.Equal(t, map[string]int{"replica1": 40}, servers(t, changed, nobody(), 40))
	assert.Equal(t, map[string]int{"replica2": 40}, servers(t, changed, reports(nobody()), 40))
}

// A physical replica that is declared to be fed by logical replication is not read from;
// TestLogicalReplica has one that is.
func (f fieldTest) logical(t *testing.T) {
	grouped := func(c *readsplit.Config) { c.Replicas[1].Groups = []string{"reports"} }
	base := newDB(t, f.c, inDatabase(f.database), configured(grouped))
	changed := newDB(t, f.c, inDatabase(f.database), configured(grouped), configured(func(c *readsplit.Config) { c.Replicas[1].Logical = true }))
	ctx := readsplit.AnyReplica(reports(nobody()))
	assert.Equal(t, map[string]int{"replica2": 10}, servers(t, base, ctx, 10))
	assert.Equal(t, map[string]int{"primary": 10}, servers(t, changed, ctx, 10))
}

// What is wrong with groups is reported with the field, the value, the rule and the
// remedy.
func TestConfigGroupsReportsEveryProblem(t *testing.T) {
	good := postgres.Open("host=127.0.0.1")
	err := used(t, readsplit.Config{
		Replicas: []readsplit.Replica{
			{Name: "a", Dialector: good, Reserved: true},
			{Name: "b", Dialector: good, Logical: true},
			{Name: "c", Dialector: good, Logical: true, AllowPrimaryAsReplica: true, Groups: []string{"reports"}},
		},
		Groups: []groups.Group{
			{Name: "small", From: groups.Estimate{Takes: time.Second}, Tables: []any{"orders", ""}},
			{Name: "large", From: groups.Estimate{Takes: time.Minute}, Tables: []any{"public.orders"}},
			{Name: "small", Otherwise: 7},
			{From: groups.Estimate{Takes: -1, Rows: -2}, Pool: groups.Pool{MaxOpen: -3}},
		},
		Resolvers:     []readsplit.Resolver{{Name: "large"}},
		ConflictGroup: "large",
	})
	require.Error(t, err)
	for _, want := range []string{
		"Config.Replicas[0].Reserved is true, but it has no Groups: no read would ever go there",
		"Config.Replicas[1].Logical is true, but it has no Groups",
		"Config.Replicas[2].AllowPrimaryAsReplica is true, and so is Logical",
		"Config.Groups[0].Tables[1] is empty",
		`Config.Groups[1].Tables names table "orders", which is of group "small" already: a table has one group; remove it from one`,
		"Config.Groups[1].From is 1m0s, and whatever reaches it reaches that of Config.Groups[0], 1s, which comes first: put the larger one first",
		`Config.Groups[2].Name is "small", as Config.Groups[0].Name is`,
		"Config.Groups[2].Otherwise is 7: it must be groups.Primary, groups.AnyReplica or groups.Refuse",
		"Config.Groups[3].Name is empty",
		"Config.Groups[3].From.Takes is -1ns", "Config.Groups[3].From.Rows is -2",
		"Config.Groups[3].Pool.MaxOpen is -3",
		`Config.Resolvers[0].Name is "large", which is a group of Config.Groups`,
	} {
		assert.ErrorContains(t, err, want)
	}
	assert.NotContains(t, err.Error(), "ConflictGroup", "a group that is described may get its replicas later")
}
