package catalog_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/catalog"
	"github.com/readsplit/readsplit/sqlclass"
)

const manyFunctions = `
	CREATE SCHEMA s1; CREATE SCHEMA s2;
	DO $$ BEGIN
	FOR i IN 1..20000 LOOP
		EXECUTE format('CREATE FUNCTION s%s.fn_%s_calculate(int, text) RETURNS int LANGUAGE sql %s AS ''SELECT $1''',
			1 + i % 2, i, CASE WHEN i % 3 = 0 THEN 'VOLATILE' ELSE 'STABLE' END);
	END LOOP;
	CREATE TABLE t (id int, v text, at timestamptz, price numeric);
	FOR i IN 1..500 LOOP
		EXECUTE format('CREATE VIEW view_%s AS SELECT a.id, upper(a.v) AS v, s1.fn_%s_calculate(a.id, b.v) AS f,
			date_trunc(''day'', a.at) AS day, coalesce(a.price, b.price)::numeric(10, 2) AS price
			FROM t a LEFT JOIN t b USING (id) WHERE a.at > now() - interval ''3 days''', i, 2 * i);
	END LOOP;
	END $$`

// The server has no statistics of what was just created. A plan that compares every
// expression with every function takes longer than Config.Timeout.
func TestManyFunctions(t *testing.T) {
	primary, _ := database(t, manyFunctions)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := running(t, catalog.Config{DB: primary, Every: -1})
	runtime.GC()
	runtime.ReadMemStats(&after)
	st := c.Status()
	assert.Equal(t, 20000, st.Functions)
	assert.Equal(t, sqlclass.Read, judge(c, "SELECT s2.fn_11111_calculate(1, 'x')").Class)
	assert.Equal(t, sqlclass.Unknown, judge(c, "SELECT s1.fn_11112_calculate(1, 'x')").Class)
	assert.Equal(t, sqlclass.Read, judge(c, "SELECT * FROM view_1").Class)
	assert.Equal(t, sqlclass.Unknown, judge(c, "SELECT * FROM view_3").Class)
	assert.Less(t, st.Took, 8*time.Second)
	assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(16<<20))
	t.Logf("load %v, %d KB", st.Took, (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>10)
}

func TestTooManyRows(t *testing.T) {
	primary, _ := database(t, "CREATE FUNCTION f() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1'")
	told := make(chan error, 1)
	c, err := catalog.New(catalog.Config{DB: primary, Every: -1, OnError: func(err error) { told <- err }})
	require.NoError(t, err)
	c.LimitRows(1000)
	c.Start()
	defer c.Close()
	assert.EqualError(t, <-told, "readsplit: read the catalogue: it is too large to keep: declare functions in Config.ReadFunctions instead")
	assert.Equal(t, sqlclass.Unknown, judge(c, "SELECT f()").Class)
}
