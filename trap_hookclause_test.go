package readsplit_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
)

// A hook of a write reads the primary by whatever handle it reads: one that a
// clause was added to, one that such a query has left, and the pool of one.
func TestT05HandlesInHooksOfAWrite(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		ran := 0
		db := x.WithContext(readsplit.WithSession(withHooks(hooks{"BeforeSave": func(tx *gorm.DB) error {
			ran++
			var list []book
			left := tx.Session(&gorm.Session{NewDB: true}).Find(&list)
			require.NoError(t, left.Error)
			fresh := func(tx *gorm.DB) *gorm.DB { return tx.Session(&gorm.Session{NewDB: true}) }
			clause := fresh(tx).Clauses(dbresolver.Read).Find(&list)
			require.NoError(t, clause.Error)
			again := fresh(clause).Clauses(dbresolver.Read).Find(&list)
			require.NoError(t, again.Error)
			for name, handle := range map[string]*gorm.DB{
				"left by a query": left, "left after a clause": clause, "left after a clause on that": again,
				"with a clause": fresh(tx).Clauses(dbresolver.Read), "with a clause twice": fresh(tx).Clauses(dbresolver.Read).Clauses(dbresolver.Read),
			} {
				require.Equal(t, "primary", served(t, fresh(handle)), name)
				var server string
				row := handle.Statement.ConnPool.QueryRowContext(t.Context(), whoSQL)
				require.NoError(t, row.Scan(&server), name)
				require.Equal(t, "primary", server, "the pool of a handle "+name)
			}
			return nil
		}}), readsplit.NewSession()))
		require.NoError(t, db.Create(&hookedBook{Title: "three", AuthorID: 1}).Error)
		require.Equal(t, 1, ran)
		// What was pinned by a clause is not pinned for ever.
		other, _ := x.session()
		wrote := other.Clauses(dbresolver.Write).Find(&[]book{})
		require.NoError(t, wrote.Error)
		onReplica(t, served(t, wrote.Session(&gorm.Session{NewDB: true}).Clauses(dbresolver.Read)))
	}, gormConfigured(func(c *gorm.Config) { c.SkipDefaultTransaction = true }))
}
