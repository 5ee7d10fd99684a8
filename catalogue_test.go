package readsplit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/readonlyguard"
)

const functionsSchema = `
CREATE TABLE t (n int);
INSERT INTO t VALUES (1);
CREATE FUNCTION total(int) RETURNS int STABLE LANGUAGE sql AS 'SELECT $1 + n FROM t';
CREATE FUNCTION twice(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 2 * $1';
CREATE FUNCTION touch(int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION said_read(int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION said_write(int) RETURNS int STABLE LANGUAGE sql AS 'SELECT $1';
CREATE VIEW calm AS SELECT n, total(n) FROM t;
CREATE VIEW taking AS SELECT n, pg_try_advisory_lock(n) AS got FROM t;
CREATE VIEW above AS SELECT n FROM taking;
CREATE UNLOGGED TABLE fleeting (n int);`

// Where a statement goes that calls functions of the database's own, or reads a
// view that does, is up to its catalogue, and to what the application says.
func TestCatalogue(t *testing.T) {
	c := cluster(t)
	admin := newDB(t, c, configured(func(c *readsplit.Config) { c.Replicas = nil }))
	require.NoError(t, admin.Exec(functionsSchema).Error)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	d := newDB(t, c, inDatabase(admin.name), configured(patient), configured(func(c *readsplit.Config) {
		c.ReadFunctions = []string{"said_read"}
		c.WriteFunctions = []string{"public.said_write"}
	}))
	d.eligible(t, "replica1", "replica2")
	known(t, d.plugin)
	where := func(query string) (replica bool, why policy.Reason) {
		t.Helper()
		// How far replicas are behind is not what this is about, also after a statement
		// that counts as a write.
		tx := d.WithContext(readsplit.Stale(nobody())).Raw(query).Scan(&[]map[string]any{})
		require.NoError(t, tx.Error, query)
		decision, ok := readsplit.DecisionOf(tx)
		require.True(t, ok)
		return decision.Replica, decision.Reason
	}
	for query, replica := range map[string]bool{
		"SELECT total(1)":                          true,
		"SELECT public.twice(total(n)) FROM t":     true,
		"SELECT said_read(1), total(1)":            true,
		"SELECT touch(1)":                          false,
		"SELECT total(touch(1))":                   false,
		"SELECT said_write(1)":                     false,
		"SELECT * FROM calm":                       true,
		"SELECT * FROM taking":                     false,
		"SELECT * FROM t, above":                   false,
		"SELECT * FROM public.above":               false,
		"SELECT * FROM fleeting":                   false,
		"SELECT * FROM t WHERE n IN (TABLE above)": false,
	} {
		got, why := where(query)
		assert.Equal(t, replica, got, "%s: %v", query, why)
		if !replica {
			assert.Equal(t, policy.ReasonUnknownStatement, why, query)
		}
	}
	assert.Zero(t, d.plugin.Status().Refused, "nothing was found out by trying")
	st := d.plugin.Status().Catalog
	assert.True(t, st.Current)
	assert.Equal(t, 5, st.Functions)
	var risks []string
	for _, r := range st.Risks {
		risks = append(risks, r.Name)
	}
	assert.Subset(t, risks, []string{"public.taking", "public.above", "public.fleeting"})

	// DDL through the plugin counts at once, and what others change soon.
	require.NoError(t, d.Exec("ALTER FUNCTION total(int) VOLATILE").Error)
	got, _ := where("SELECT total(1)")
	assert.False(t, got)
	require.NoError(t, d.Exec("ALTER FUNCTION total(int) STABLE").Error)
	eventually(t, "the function to be known again", func() bool { got, _ := where("SELECT total(1)"); return got })
	require.NoError(t, admin.Exec("CREATE OR REPLACE FUNCTION twice(int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 2 * $1'").Error)
	eventually(t, "the change to be noticed", func() bool { got, _ := where("SELECT twice(1)"); return !got })

	// A read session may call what reads.
	ctx := readsplit.ReadOnly(context.Background())
	require.NoError(t, d.WithContext(ctx).Raw("SELECT total(1), said_read(1)").Scan(&map[string]any{}).Error)
	require.NoError(t, d.WithContext(ctx).Raw("SELECT * FROM fleeting").Scan(&[]map[string]any{}).Error)
	require.PanicsWithError(t, refusalOf(t, d, ctx, "SELECT touch(1)"), func() {
		d.WithContext(ctx).Raw("SELECT touch(1)").Scan(&map[string]any{})
	})
}

// refusalOf returns what the guard says of a query.
func refusalOf(t *testing.T, d *testDB, ctx context.Context, query string) (text string) {
	t.Helper()
	defer func() {
		err, ok := recover().(*readonlyguard.Error)
		require.True(t, ok)
		text = err.Error()
	}()
	d.WithContext(ctx).Raw(query).Scan(&map[string]any{})
	return ""
}

func TestCatalogueBadNames(t *testing.T) {
	err := used(t, readsplit.Config{ReadFunctions: []string{"ok", "f(int)"}, WriteFunctions: []string{"a.b.c"}})
	assert.ErrorContains(t, err, `Config.ReadFunctions[1] is "f(int)"`)
	assert.ErrorContains(t, err, `Config.WriteFunctions[0] is "a.b.c"`)
}
