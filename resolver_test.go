package readsplit_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// Resolvers may be added while the plugin is being installed, while sessions join
// tokens, and while statements run.
func TestAddResolverAtAnyTime(t *testing.T) {
	x := newTrap(t)
	db, ctx := x.session()
	require.NoError(t, db.Create(&book{Title: "two", AuthorID: 1}).Error)
	token, err := readsplit.SessionFrom(ctx).Token(ctx)
	require.NoError(t, err)

	other := openGORM(t, x, false)
	p := readsplit.New(readsplit.Config{Replicas: x.replicas()})
	var all sync.WaitGroup
	all.Go(func() {
		for i := range 12 {
			if err := p.AddResolver(readsplit.Resolver{Name: fmt.Sprint("r", i)}); err != nil {
				t.Error(err)
			}
			s := readsplit.NewSession()
			s.Join(token)
			runtime.Gosched()
		}
	})
	require.NoError(t, other.Use(p))
	for range 20 {
		require.NoError(t, other.Find(&[]book{}).Error)
	}
	all.Wait()
	require.Len(t, p.Status().Resolvers, 12)
	require.NoError(t, p.Close(limit(t)))
	require.ErrorIs(t, p.AddResolver(readsplit.Resolver{Name: "late"}), readsplit.ErrClosed)
	require.NoError(t, other.Find(&[]book{}).Error)
}

// A db.Use that failed leaves nothing behind, and can be tried again.
func TestUseThatFailedCanBeTriedAgain(t *testing.T) {
	x := newTrap(t)
	db := openGORM(t, x, false)
	before := runtime.NumGoroutine()
	for range 5 {
		twice := readsplit.Resolver{Name: "a", Primary: postgres.Open(x.dsn("primary"))}
		p := readsplit.New(readsplit.Config{Replicas: x.replicas(), Resolvers: []readsplit.Resolver{twice, twice}})
		require.ErrorContains(t, db.Use(p), `Config.Resolvers[1].Name is "a", as that of another resolver`)
		require.ErrorContains(t, db.Use(p), `Config.Resolvers[1].Name is "a", as that of another resolver`)
	}
	row := db.Callback().Row().Get("gorm:row")
	for range 3 {
		require.NoError(t, db.Callback().Row().Remove("gorm:row"))
		p := readsplit.New(readsplit.Config{Replicas: x.replicas(), Settings: func(context.Context) (map[string]string, error) { return nil, nil }})
		require.ErrorContains(t, db.Use(p), `no callback "gorm:row"`)
		require.NoError(t, db.Callback().Row().Register("gorm:row", row))
	}
	eventually(t, "the goroutines to end", func() bool { return runtime.NumGoroutine() <= before+1 })
	p := readsplit.New(readsplit.Config{Replicas: x.replicas()})
	require.NoError(t, db.Use(p))
	require.NoError(t, db.Find(&[]book{}).Error)
	require.NoError(t, p.Close(limit(t)))
}

// Once the plugin is closed, what it opened for a primary is closed too, and
// everything goes where the application's own pool leads.
func TestCloseWithAPrimaryOfItsOwn(t *testing.T) {
	x := newTrap(t)
	for _, prepared := range []bool{false, true} {
		db := openGORM(t, x, prepared)
		p := readsplit.New(readsplit.Config{Replicas: x.replicas(), Primary: postgres.Open(x.dsn("primary"))})
		require.NoError(t, db.Use(p))
		require.NoError(t, db.Find(&[]book{}).Error)
		require.NoError(t, p.Close(limit(t)))
		require.NoError(t, db.Find(&[]book{}).Error)
		require.NoError(t, db.Table("books_t").Create(map[string]any{"title": "late"}).Error)
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error { return tx.Raw("SELECT 1").Scan(new(int)).Error }))
	}
	require.Equal(t, []string{"one", "late", "late"}, x.titles(t))
}
