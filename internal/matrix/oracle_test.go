package matrix

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// The oracle must see what is wrong, or it proves nothing.
func TestOracle(t *testing.T) {
	on := func(server string, texts ...string) []statement {
		w := &watch{open: map[backend]txKind{}}
		for _, text := range texts {
			w.add(statement{server: server, pid: 1, text: text})
		}
		return w.found
	}
	primary := func(texts ...string) []statement { return on("primary", texts...) }
	replica := func(texts ...string) []statement { return on("replica1", texts...) }
	const sel, ins, lock = `SELECT * FROM "books"`, `INSERT INTO "books" VALUES (1)`, `SELECT * FROM "books" FOR UPDATE`
	for name, c := range map[string]struct {
		want  string
		ran   []statement
		wrong int
	}{
		"a read on a replica":                         {reads, replica(sel), 0},
		"a read on the primary":                       {reads, primary(sel), 1},
		"a read nowhere":                              {reads, nil, 1},
		"a read on two replicas":                      {reads, append(replica(sel), on("replica2", sel)...), 1},
		"a read with a transaction on the primary":    {reads, append(primary("begin", "commit"), replica(sel)...), 2},
		"a read in a read-only transaction":           {reads, replica("begin read only", sel, "commit"), 0},
		"a read in a transaction that may write":      {reads, replica("begin", sel, "commit"), 2},
		"a write on the primary":                      {writes, primary("begin", ins, "commit"), 0},
		"a write on a replica":                        {writes, replica(ins), 2},
		"a write on a replica that belongs there":     {reads, replica(ins), 1},
		"a write in a transaction on a replica":       {writes, replica("begin", ins, "commit"), 3},
		"a lock on a replica":                         {reads, replica(lock), 1},
		"a half of it on a replica":                   {writes, append(primary("begin", ins, "commit"), replica(sel)...), 1},
		"a transaction that is left open":             {writes, primary("begin", ins), 1},
		"something where nothing belongs":             {nothing, primary(sel), 1},
		"a transaction where nothing belongs":         {nothing, primary("begin", "commit"), 2},
		"a read, then a write":                        {`RP`, append(replica(sel), primary(ins)...), 0},
		"a write, then a read, where it is the other": {`RP`, append(primary(ins), replica(sel)...), 1},
	} {
		verdict := (&cell{want: c.want}).judge(outcome{statements: c.ran})
		assert.Len(t, verdict, c.wrong, "%s: %q", name, verdict)
	}
}

func TestReadsOnly(t *testing.T) {
	for _, text := range rawReads {
		assert.True(t, readsOnly(text), text)
	}
	for _, text := range rawWrites {
		if text != "SELECT txid_current()" { // which the replicas refuse by themselves
			assert.False(t, readsOnly(text), text)
		}
	}
}

// On a line without the plugin, where all goes to the primary or all to a replica, the oracle must see it in every
// cell, and the watch must have seen the statements.
func TestOracleOnWrongServers(t *testing.T) {
	e := newEnvironment(t)
	l := e.open(t, setup{}, readsplit.PreferReplica)
	defer l.close(t)
	routed := l.db
	concerned := slices.DeleteFunc(cells(), func(c *cell) bool {
		return c.want != reads && c.want != writes || c.area != "Find" && c.area != "Preload" && c.area != "Create" && c.area != "Locking" && c.area != "Transaction"
	})
	require.Greater(t, len(concerned), 100)
	require.True(t, slices.ContainsFunc(concerned, func(c *cell) bool { return c.want == reads }))
	require.True(t, slices.ContainsFunc(concerned, func(c *cell) bool { return c.want == writes }))
	for server, wrong := range map[string]string{"primary": reads, "replica1": writes} {
		var err error
		l.db, err = gorm.Open(postgres.Open(e.dsn(server, l.database)), &gorm.Config{Logger: e.watch})
		require.NoError(t, err)
		for _, c := range concerned {
			verdict := c.judge(l.run(l.context(setup{}), c))
			l.unsure = false // nothing went through the plugin
			if c.want == wrong {
				assert.NotEmpty(t, verdict, "%s on %s", c.name(), server)
			} else {
				assert.Empty(t, verdict, "%s on %s", c.name(), server)
			}
		}
		pool, err := l.db.DB()
		require.NoError(t, err)
		require.NoError(t, pool.Close())
	}
	l.db = routed
}
