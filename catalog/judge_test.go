package catalog

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/sqlclass"
)

// small is a database without a server: functions total (stable) and bill
// (volatile) in schema app, lower(..) shadowed there, view open_orders over an
// advisory lock, table cache unlogged under its parent, and the server's own.
func small(d *declared) *snapshot {
	f := newFacts()
	f.functions = []function{
		{oid: 20001, name: name{"app", "total"}},
		{oid: 20002, name: name{"app", "bill"}, volatile: true},
		{oid: 20003, name: name{"app", "lower"}, volatile: true},
		{oid: 20004, name: name{"app", "brand_new"}},
	}
	f.builtins = map[uint32]builtin{
		1: {"pg_lock_status", true}, 2: {"pg_try_advisory_lock", true}, 3: {"upper", false},
		4: {"brand_new", true}, 5: {"newly_stable", false}, 6: {"newly_stable", false}, 7: {"pg_walfile_name", false},
	}
	f.probe = []uint32{1}
	f.objects = []object{
		{node: node{classRelation, 20010}, name: name{"app", "open_orders"}},
		{node: node{classRelation, 20011}, name: name{"app", "open_orders_of_today"}},
		{node: node{classRelation, 20012}, name: name{"app", "customers"}},
		{node: node{classRelation, 20015}, name: name{"app", "wal"}},
		{node: node{classRelation, 20013}, name: name{"app", "cache"}},
		{node: node{classRelation, 20014}, name: name{"app", "cache_1"}, unlogged: true},
	}
	f.parents[20014] = []uint32{20013}
	uses := func(user, used node) { f.users[used] = append(f.users[used], user) }
	uses(node{classRelation, 20010}, node{classFunction, 2})
	uses(node{classRelation, 20011}, node{classRelation, 20010})
	uses(node{classRelation, 20012}, node{classFunction, 3})
	uses(node{classRelation, 20012}, node{classFunction, 5})
	uses(node{classRelation, 20015}, node{classFunction, 7})
	return newSnapshot(f, d.index())
}

func said(t *testing.T, reads, writes []string) *declared {
	t.Helper()
	_, d, err := Config{ReadFunctions: reads, WriteFunctions: writes}.complete()
	require.NoError(t, err)
	return d
}

func TestJudge(t *testing.T) {
	nothing := newSnapshot(nil, said(t, nil, nil).index())
	known := small(said(t, nil, nil))
	declares := small(said(t, []string{"bill", "unseen", "app.far"}, []string{"app.total", "upper", "unseen_write"}))
	before := newSnapshot(nil, said(t, []string{"bill", "twice"}, []string{"upper", "twice"}).index())
	forgot := known.forgotten()

	read := sqlclass.Info{Class: sqlclass.Read, Verb: sqlclass.Select}
	unlisted := sqlclass.Info{Class: sqlclass.Unknown, Verb: sqlclass.Select, Flags: sqlclass.UnlistedCalls}
	unknown := sqlclass.Info{Class: sqlclass.Unknown, Verb: sqlclass.Select}
	local := sqlclass.Info{Class: sqlclass.Unknown, Verb: sqlclass.Select, Flags: sqlclass.SetsLocal}
	async := sqlclass.Info{Class: sqlclass.Unknown, Verb: sqlclass.Select, Flags: sqlclass.AsyncCommit}
	unlistedAsync := sqlclass.Info{Class: sqlclass.Unknown, Verb: sqlclass.Select, Flags: sqlclass.AsyncCommit | sqlclass.UnlistedCalls}
	same := func(sql string) sqlclass.Info { return sqlclass.Classify(sqlclass.PostgreSQL, sql) }

	for _, tt := range []struct {
		name string
		s    *snapshot
		sql  string
		want sqlclass.Info
	}{
		{"nothing", nothing, "SELECT total(1)", unlisted},
		{"nothing", nothing, "SELECT lower(a) FROM open_orders", read},
		{"nothing", nothing, "INSERT INTO t SELECT total(1)", same("INSERT INTO t SELECT total(1)")},

		{"known", known, "SELECT total(1)", read},
		{"known", known, "SELECT app.total(upper(a)) FROM t", read},
		{"known", known, "SELECT public.total(1)", unlisted},
		{"known", known, "SELECT bill(1)", unlisted},
		{"known", known, "SELECT total(1), other(2)", unlisted},
		{"known", known, "SELECT brand_new(1)", unlisted}, // may be the server's own, on no list
		{"known", known, "SELECT app.brand_new(1)", read},
		{"known", known, "SELECT newly_stable(1), pg_catalog.newly_stable(1)", read},
		{"known", known, "SELECT app.newly_stable(1)", unlisted},
		{"known", known, "SELECT pg_walfile_name('0/0')", same("SELECT pg_walfile_name('0/0')")}, // stable, and refused by a standby
		{"known", known, "SELECT total(1) FROM open_orders", unknown},
		{"known", known, "SELECT total(lower(a)) FROM t", unlisted},
		{"known", known, "SELECT lower(a) FROM t", unknown},
		{"known", known, "SELECT pg_catalog.lower(a) FROM t", read},
		{"known", known, "SELECT upper(a) FROM customers", read},
		{"known", known, "SELECT * FROM open_orders", unknown},
		{"known", known, "SELECT * FROM open_orders_of_today", unknown},
		{"known", known, "SELECT * FROM app.cache_1", unknown},
		{"known", known, "SELECT * FROM cache", unknown},
		{"known", known, "SELECT * FROM elsewhere.cache", read},
		{"known", known, "SELECT cache FROM customers", read},
		{"known", known, "SELECT 'synchronous_commit' FROM cache", async},
		{"known", known, "SELECT 1 FROM cache, PG_Settings", async},
		{"known", known, "SELECT total('synchronous_commit')", unlistedAsync}, // nothing is guessed at
		{"known", known, "SELECT 'synchronous_commit'", read},
		{"known", known, "SELECT * FROM cache FOR UPDATE", same("SELECT * FROM cache FOR UPDATE")},
		{"known", known, "DELETE FROM cache", same("DELETE FROM cache")},
		{"known", known, "SELECT total(1); DROP TABLE t", same("SELECT total(1); DROP TABLE t")},
		{"known", known, "SELECT total(1), nextval('s')", same("SELECT total(1), nextval('s')")},
		{"known", known, "SELECT 'open", same("SELECT 'open")},
		{"known", known, "", same("")},

		{"declared", declares, "SELECT bill(1), unseen(2)", read},
		{"declared", declares, "SELECT any_schema.unseen(2)", read},
		{"declared", declares, "SELECT app.far(1)", read},
		{"declared", declares, "SELECT far(1)", unlisted},
		{"declared", declares, "SELECT total(1)", unlisted},
		{"declared", declares, "SELECT upper(a) FROM t", unknown},
		{"declared", declares, "SELECT pg_catalog.upper(a) FROM t", unknown},
		{"declared", declares, "SELECT * FROM customers", unknown}, // it calls upper
		{"declared", declares, "SELECT unseen_write(1)", unlisted},

		{"before", before, "SELECT bill(1)", read},
		{"before", before, "SELECT twice(1)", unlisted},
		{"before", before, "SELECT upper(a) FROM t", unknown},

		{"forgot", forgot, "SELECT total(1)", unlisted},
		{"forgot", forgot, "SELECT * FROM open_orders", unknown},
		{"forgot", forgot, "SELECT set_config('a', 'b', true)", local},
		{"forgot", forgot, "SELECT * FROM customers", read},
		{"forgot", forgot, "SELECT 1", read},
		{"forgot", forgot, "INSERT INTO t VALUES (1)", same("INSERT INTO t VALUES (1)")},

		{"nothing", nothing.forgotten(), "SELECT * FROM customers", read},
	} {
		var c Catalog
		c.snapshot.Store(tt.s)
		assert.Equal(t, tt.want, c.Judge(tt.sql, same(tt.sql)), "%s: %s", tt.name, tt.sql)
		assert.Equal(t, tt.want, c.Classify(tt.sql), "%s: %s", tt.name, tt.sql)
	}
	assert.Equal(t, []Risk{
		{"function", "app.lower", "volatile"},
		{"relation", "app.cache", "unlogged"},
		{"relation", "app.cache_1", "unlogged"},
		{"relation", "app.open_orders", "uses pg_catalog.pg_try_advisory_lock"},
		{"relation", "app.open_orders_of_today", "uses app.open_orders"},
		{"relation", "app.wal", "uses pg_catalog.pg_walfile_name"},
	}, known.risks)
}

// A newer server may store expressions in another form: nothing would be found in
// them, and every view would look harmless.
func TestUnknownFormIsRisky(t *testing.T) {
	f := newFacts()
	f.builtins = map[uint32]builtin{1: {"pg_lock_status", true}}
	f.objects = []object{
		{node: node{classRelation, 20010}, name: name{"app", "v"}},
		{node: node{classType, 20011}, name: name{"app", "dom"}},
		{node: node{classOperator, 20012}, name: name{"app", "==>"}},
	}
	s := newSnapshot(f, said(t, nil, nil).index())
	assert.Equal(t, []Risk{
		{"relation", "app.v", "stored in an unknown form"},
		{"type", "app.dom", "stored in an unknown form"},
	}, s.risks)

	f.probe = []uint32{1}
	f.opaque = []node{{classRelation, 20010}}
	assert.Equal(t, []Risk{{"relation", "app.v", "stored in an unknown form"}}, newSnapshot(f, said(t, nil, nil).index()).risks)
}

// Domains, aggregates and recursive functions may use each other in circles.
func TestCirclesEnd(t *testing.T) {
	f := newFacts()
	f.builtins, f.probe = map[uint32]builtin{1: {"pg_lock_status", true}}, []uint32{1}
	a, b := node{classRelation, 20010}, node{classRelation, 20011}
	f.functions = []function{{oid: 20001, name: name{"app", "bill"}, volatile: true}}
	f.objects = []object{{node: a, name: name{"app", "a"}}, {node: b, name: name{"app", "b"}, unlogged: true}}
	f.users = map[node][]node{a: {b}, b: {a}, {classFunction, 20001}: {a}}
	f.parents = map[uint32][]uint32{20011: {20010}, 20010: {20011}}
	s := newSnapshot(f, said(t, nil, nil).index())
	assert.Len(t, s.relations, 4)
}

// A function that is declared a write is one also where the lexer knows it for harmless,
// and whether or not the text calls others.
func TestDeclaredWritesAmongHarmlessOnes(t *testing.T) {
	c, err := New(Config{
		ReadFunctions:  []string{"total"},
		WriteFunctions: []string{"ascii", "information_schema._pg_expandarray"},
	})
	require.NoError(t, err)
	for sql, want := range map[string]sqlclass.Class{
		"SELECT total(1), lower(a) FROM t":                                                  sqlclass.Read,
		"SELECT ascii(a) FROM t":                                                            sqlclass.Unknown,
		"SELECT total(1), ascii(a) FROM t":                                                  sqlclass.Unknown,
		"SELECT (information_schema._pg_expandarray(i.indkey)).n FROM pg_index i":           sqlclass.Unknown,
		"SELECT total(1), (information_schema._pg_expandarray(i.indkey)).n FROM pg_index i": sqlclass.Unknown,
		"SELECT (information_schema._pg_truetypid(a, t)) FROM pg_attribute a, pg_type t":    sqlclass.Read,
	} {
		info := sqlclass.Classify(sqlclass.PostgreSQL, sql)
		assert.Equal(t, want, c.Judge(sql, info).Class, sql)
		assert.Equal(t, c.Judge(sql, info), c.Classify(sql), sql)
	}
}

func TestJudgeDoesNotAllocate(t *testing.T) {
	c, err := New(Config{WriteFunctions: []string{"ascii"}})
	require.NoError(t, err)
	for _, s := range []*snapshot{newSnapshot(nil, said(t, nil, nil).index()), small(said(t, nil, nil))} {
		c.snapshot.Store(s)
		for _, sql := range []string{benchRead, benchCalls, "INSERT INTO t VALUES (1)", "SELECT 1"} {
			info := sqlclass.Classify(sqlclass.PostgreSQL, sql)
			assert.Zero(t, testing.AllocsPerRun(100, func() { c.Judge(sql, info) }), sql)
			assert.Zero(t, testing.AllocsPerRun(100, func() { c.Classify(sql) }), sql)
		}
	}
}
