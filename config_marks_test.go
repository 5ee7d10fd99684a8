package readsplit_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/readonlyguard"
)

// label is a model of these tests.
type label struct {
	ID   int64
	Name string
}

// marks are the functions of the package that mark a context: from context.Context
// and perhaps more to context.Context.
func marks(t testing.TB) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "context.go", nil, 0)
	require.NoError(t, err)
	isContext := func(list *ast.FieldList) bool {
		if list == nil || len(list.List) == 0 {
			return false
		}
		sel, ok := list.List[0].Type.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Context"
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() && isContext(f.Type.Params) && isContext(f.Type.Results) {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

// TestConfigEveryMark puts every mark alone on a context, and shows another server
// or another error.
func TestConfigEveryMark(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(steady), configured(func(c *readsplit.Config) { c.Replicas[1].Groups = []string{"reports"} }))
	preferPrimary := newDB(t, c, inDatabase(d.name), configured(steady), configured(func(c *readsplit.Config) { c.Default = readsplit.PreferPrimary }))
	tight := newDB(t, c, inDatabase(d.name), configured(steady), configured(func(c *readsplit.Config) { c.MaxLag = 100 * time.Millisecond }))
	unbounded := newDB(t, c, inDatabase(d.name), configured(boundless))
	counters(t, d, 1)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	who := func(d *testDB, ctx context.Context) string { return served(t, d.WithContext(ctx)) }
	reason := func(d *testDB, ctx context.Context) policy.Reason {
		tx := d.WithContext(ctx).Raw(whoSQL).Scan(new(string))
		require.NoError(t, tx.Error)
		decision, _ := readsplit.DecisionOf(tx)
		return decision.Reason
	}
	tests := map[string]func(*testing.T){
		"Fresh": func(t *testing.T) {
			require.NotEqual(t, "primary", who(d, nobody()))
			assert.Equal(t, "primary", who(d, readsplit.Fresh(nobody())))
			assert.Equal(t, policy.ReasonFresh, reason(d, readsplit.Fresh(nobody())))
			assert.NotEqual(t, "primary", who(d, readsplit.UseReplica(readsplit.Fresh(nobody()))), "the last one counts")
			assert.Equal(t, "primary", who(d, readsplit.Fresh(readsplit.AnyReplica(nobody()))))
		},
		"UseReplica": func(t *testing.T) {
			require.Equal(t, "primary", who(preferPrimary, nobody()))
			require.Equal(t, policy.ReasonPreferPrimary, reason(preferPrimary, nobody()))
			eventually(t, "a replica to serve", func() bool { return who(preferPrimary, readsplit.UseReplica(nobody())) != "primary" })
			require.Equal(t, "primary", who(preferPrimary, nobody()))
		},
		"Stale": func(t *testing.T) {
			defer lagging(t, c, 400*time.Millisecond)()
			eventually(t, "the lag", func() bool { return who(tight, nobody()) == "primary" })
			assert.NotEqual(t, "primary", who(tight, readsplit.Stale(nobody())))
			assert.Equal(t, policy.ReasonStale, reason(tight, readsplit.Stale(nobody())))
			assert.NotEqual(t, "primary", who(tight, readsplit.Stale(readsplit.AtMost(nobody(), time.Millisecond))), "the last one counts")
		},
		"AnyReplica": func(t *testing.T) {
			defer still(t, c)()
			ctx := nobody()
			require.NoError(t, unbounded.WithContext(ctx).Exec("UPDATE counters SET n = n + 1").Error)
			require.Equal(t, "primary", who(unbounded, ctx))
			require.Equal(t, "primary", who(unbounded, readsplit.Stale(ctx)))
			assert.NotEqual(t, "primary", who(unbounded, readsplit.AnyReplica(ctx)))
			assert.Equal(t, policy.ReasonAnyReplica, reason(unbounded, readsplit.AnyReplica(ctx)))
		},
		"AtMost": func(t *testing.T) {
			defer lagging(t, c, 600*time.Millisecond)()
			eventually(t, "the lag", func() bool { return who(d, readsplit.AtMost(nobody(), 500*time.Millisecond)) == "primary" })
			assert.Equal(t, "primary", who(d, readsplit.AtMost(nobody(), 10*time.Millisecond)), "below the sampling interval too")
			assert.Equal(t, "primary", who(d, readsplit.AtMost(nobody(), 0)), "that is Fresh")
			assert.NotEqual(t, "primary", who(d, readsplit.AtMost(nobody(), 1900*time.Millisecond)))
			assert.NotEqual(t, "primary", who(d, nobody()))
		},
		"Group": func(t *testing.T) {
			eventually(t, "both to serve", func() bool { return len(servers(t, d, nobody(), 40)) == 2 })
			assert.Equal(t, map[string]int{"replica2": 40}, servers(t, d, readsplit.Group(nobody(), "reports"), 40))
		},
		"Recheck": func(t *testing.T) {
			defer still(t, c)()
			require.NoError(t, unbounded.WithContext(nobody()).Exec("INSERT INTO counters (id, n) VALUES (70, 0) ON CONFLICT DO NOTHING").Error)
			look := func(ctx context.Context) error {
				return unbounded.WithContext(ctx).Table("counters").Where("id = 70").Take(&struct{ N int }{}).Error
			}
			// Stale, since whoever writes without a session writes for the process.
			require.ErrorIs(t, look(readsplit.Stale(nobody())), gorm.ErrRecordNotFound)
			assert.NoError(t, look(readsplit.Recheck(readsplit.Stale(nobody()))))
		},
		"ReadOnly": func(t *testing.T) {
			insert := func(ctx context.Context) { _ = d.WithContext(ctx).Create(&label{Name: "x"}).Error }
			require.NotPanics(t, func() { insert(nobody()) })
			defer func() {
				refused, ok := recover().(*readonlyguard.Error)
				assert.True(t, ok)
				assert.ErrorContains(t, refused, "Create")
			}()
			insert(readsplit.ReadOnly(nobody()))
		},
		"WithSession": func(t *testing.T) {
			defer still(t, c)()
			require.NoError(t, unbounded.WithContext(nobody()).Exec("UPDATE counters SET n = n + 1").Error)
			require.Equal(t, "primary", who(unbounded, t.Context()), "the process wrote")
			assert.NotEqual(t, "primary", who(unbounded, nobody()), "this session did not")
		},
	}
	require.NoError(t, d.AutoMigrate(&label{}))
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	for _, d := range []*testDB{d, tight, unbounded} {
		eventually(t, "replicas to serve", func() bool { return who(d, nobody()) != "primary" && who(d, t.Context()) != "primary" })
	}
	for _, name := range marks(t) {
		test := tests[name]
		delete(tests, name)
		if assert.NotNil(t, test, "%s has no test: what has no effect does not exist", name) {
			t.Run(name, test)
		}
	}
	assert.Empty(t, tests, "marks that do not exist")
}

// A session that begins a request: policy.RestOfRequest and policy.OneServer count
// from there.
func TestConfigRequestPolicies(t *testing.T) {
	c := cluster(t)
	rest := newDB(t, c, configured(func(c *readsplit.Config) { c.Policies = []policy.Policy{policy.RestOfRequest()} }))
	counters(t, rest, 1)
	one := newDB(t, c, inDatabase(rest.name), configured(func(c *readsplit.Config) { c.Policies = []policy.Policy{policy.OneServer()} }))
	sticky := newDB(t, c, inDatabase(rest.name), configured(func(c *readsplit.Config) { c.Policies = []policy.Policy{policy.Sticky(time.Minute)} }))
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	s := readsplit.NewSession()
	request := readsplit.WithSession(t.Context(), s)
	eventually(t, "replicas to serve", func() bool { return served(t, rest.WithContext(request)) != "primary" })
	require.NoError(t, rest.WithContext(request).Transaction(func(tx *gorm.DB) error { return tx.Exec("UPDATE counters SET n = 1").Error }))
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	assert.Equal(t, map[string]int{"primary": 20}, servers(t, rest, request, 20))
	next := readsplit.WithSession(t.Context(), s)
	eventually(t, "the next request to be served", func() bool { return served(t, rest.WithContext(next)) != "primary" })
	assert.Equal(t, map[string]int{"primary": 5}, servers(t, sticky, next, 5), "the session wrote within the minute")

	for range 10 {
		assert.Len(t, servers(t, one, nobody(), 10), 1, "one request, one server")
	}
	many := map[string]int{}
	for range 40 {
		many[served(t, one.WithContext(nobody()))]++
	}
	assert.Len(t, many, 2)
}
