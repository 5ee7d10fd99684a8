package plugins

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
)

// TestDBResolver: both would route every statement. Whichever comes second is
// refused, with what to do.
func TestDBResolver(t *testing.T) {
	resolver := func(x *app) gorm.Plugin {
		var replicas []gorm.Dialector
		for _, r := range x.replicas() {
			replicas = append(replicas, r.Dialector)
		}
		return dbresolver.Register(dbresolver.Config{Replicas: replicas})
	}
	t.Run("first", func(t *testing.T) {
		x := newApp(t, options{}, alone, func(*gorm.DB) error { return nil })
		require.NoError(t, x.Use(resolver(x)))
		err := x.Use(readsplit.New(readsplit.Config{Replicas: x.replicas()}))
		require.ErrorContains(t, err, "dbresolver is in use on this gorm.DB")
		require.ErrorContains(t, err, "give its replicas to readsplit.Config.Replicas")
		require.NotContains(t, err.Error(), "password")
	})
	t.Run("second", func(t *testing.T) {
		x := newApp(t, options{}, before, func(*gorm.DB) error { return nil })
		err := x.Use(resolver(x))
		require.ErrorContains(t, err, "dbresolver initialises every plugin again for each server that it opens: use one of the two")
		require.NotContains(t, err.Error(), "password")
	})
	t.Run("second, without servers of its own", func(t *testing.T) {
		// It has nobody to route to but the pool that readsplit has put there.
		x := newApp(t, options{}, after, func(db *gorm.DB) error {
			return db.Use(dbresolver.Register(dbresolver.Config{}))
		})
		follows(t, x, check{createNote, func(tx *gorm.DB) (int, string) { all, _ := notes(t, tx); return len(all), all[0].Server }})
	})
}
