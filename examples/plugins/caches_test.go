package plugins

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/go-gorm/caches/v4"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// memory is a Cacher as its documentation shows them: in memory, and emptied by
// each write.
type memory struct {
	mu     sync.Mutex
	byKey  map[string][]byte
	hits   int
	stores int
}

func (m *memory) Get(_ context.Context, key string, q *caches.Query[any]) (*caches.Query[any], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.byKey[key]
	if !ok {
		return nil, nil
	}
	m.hits++
	return q, q.Unmarshal(data)
}

func (m *memory) Store(_ context.Context, key string, q *caches.Query[any]) error {
	data, err := q.Marshal()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byKey == nil {
		m.byKey = map[string][]byte{}
	}
	m.byKey[key] = data
	m.stores++
	return err
}

func (m *memory) Invalidate(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.byKey)
	return nil
}

func use(c caches.Cacher) func(*testing.T, *gorm.DB) error {
	return func(_ *testing.T, db *gorm.DB) error {
		return db.Use(&caches.Caches{Conf: &caches.Config{Cacher: c}})
	}
}

func notes(t testing.TB, tx *gorm.DB) ([]note, *gorm.DB) {
	t.Helper()
	var all []note
	tx = tx.Order("id").Find(&all)
	require.NoError(t, tx.Error)
	return all, tx
}

func titles(all []note) (titles []string) {
	for _, n := range all {
		titles = append(titles, n.Title)
	}
	return titles
}

// TestCachesAnswer: the same answers, hits and misses as without readsplit.
func TestCachesAnswer(t *testing.T) {
	var cache *memory
	install := func(t *testing.T, db *gorm.DB) error {
		cache = &memory{}
		return use(cache)(t, db)
	}
	eachOrder(t, options{}, install, func(t *testing.T, x *app) []string {
		var log []string
		me := x.visitor()
		for _, what := range []string{"a miss", "a hit"} {
			hits := cache.hits
			all, tx := notes(t, me)
			log = append(log, said(what, tx, titles(all), cache.hits, cache.stores))
			_, decided := readsplit.DecisionOf(tx)
			require.Equal(t, x.plugin != nil && hits == cache.hits, decided, "there is no decision where nothing was asked")
			if x.plugin != nil {
				onReplica(t, all[0].Server)
			}
		}
		log = append(log, said("create", me.Create(&note{OwnerID: 1, Title: "mine"}), cache.hits))
		all, tx := notes(t, me)
		log = append(log, said("after a write", tx, titles(all), cache.hits, cache.stores))
		tx = me.First(&note{}, 4711)
		log = append(log, said("not found", tx, cache.hits, cache.stores))
		return log
	})
}

// TestCachesPromise: what the cache promises is not what readsplit promises. With
// a plain Cacher, a visitor's read from a replica that is behind fills the cache
// after the write has emptied it, and the writer gets the old answer. With
// SessionCacher the writer asks the database, and the visitor may be cached.
func TestCachesPromise(t *testing.T) {
	run := func(t *testing.T, when order, cache caches.Cacher) []string {
		x := newApp(t, options{}, when, func(db *gorm.DB) error { return use(cache)(t, db) })
		if x.plugin != nil {
			x.pause(t)
		}
		me, visitor := x.visitor(), x.visitor()
		require.NoError(t, createNote(me))
		_, _ = notes(t, visitor)
		all, _ := notes(t, me)
		require.NoError(t, x.cluster.UndoAll())
		return titles(all)
	}
	require.Equal(t, []string{"first", "mine"}, run(t, alone, &memory{}))
	for _, when := range []order{before, after} {
		t.Run(string(when), func(t *testing.T) {
			require.Equal(t, []string{"first"}, run(t, when, &memory{}), "the cache hides the write")
			cache := &memory{}
			require.Equal(t, []string{"first", "mine"}, run(t, when, SessionCacher{cache}))
			require.Zero(t, cache.hits)
		})
	}
}

// TestSessionCacher: who has written asks the database, who has not is cached.
func TestSessionCacher(t *testing.T) {
	for _, when := range []order{before, after} {
		t.Run(string(when), func(t *testing.T) {
			cache := &memory{}
			x := newApp(t, options{}, when, func(db *gorm.DB) error { return use(SessionCacher{cache})(t, db) })
			hit := func(tx *gorm.DB) bool {
				before := cache.hits
				_, _ = notes(t, tx)
				return cache.hits > before
			}
			visitor := x.visitor()
			require.False(t, hit(visitor))
			require.True(t, hit(visitor))
			require.True(t, hit(x.visitor()), "another visitor")
			require.False(t, hit(x.WithContext(Current(session()))), "what must be current")

			me := x.visitor()
			require.NoError(t, createNote(me))
			require.False(t, hit(x.visitor()))
			require.True(t, hit(x.visitor()))
			require.False(t, hit(me), "who has written")

			token, err := readsplit.SessionFrom(me.Statement.Context).Token(me.Statement.Context)
			require.NoError(t, err)
			elsewhere := readsplit.NewSession()
			elsewhere.Join(token)
			require.False(t, hit(x.WithContext(readsplit.WithSession(context.Background(), elsewhere))), "who has joined their session")

			require.NoError(t, x.visitor().Transaction(func(tx *gorm.DB) error {
				require.NoError(t, createNote(tx))
				require.False(t, hit(tx), "inside of the transaction that writes")
				return nil
			}))
		})
	}
}

// TestCachesEaser: the Easer gives the answer of a query that began before a write
// to the writer who asks after it; with readsplit and without it.
func TestCachesEaser(t *testing.T) {
	type held struct{}
	for _, when := range []order{alone, before, after} {
		t.Run(string(when), func(t *testing.T) {
			answered, release := make(chan struct{}), make(chan struct{})
			x := newApp(t, options{}, when, func(db *gorm.DB) error {
				query := db.Callback().Query().Get("gorm:query")
				err := db.Callback().Query().Replace("gorm:query", func(tx *gorm.DB) {
					query(tx)
					if tx.Statement.Context.Value(held{}) != nil {
						close(answered)
						<-release
					}
				})
				require.NoError(t, err)
				return db.Use(&caches.Caches{Conf: &caches.Config{Easer: true}})
			})
			var wait sync.WaitGroup
			wait.Go(func() { _, _ = notes(t, x.WithContext(context.WithValue(session(), held{}, true))) })
			<-answered
			me := x.visitor()
			require.NoError(t, createNote(me))
			var mine []note
			wait.Go(func() { mine, _ = notes(t, me) })
			eventually(t, "the writer's read waits for the other", func() bool {
				stacks := make([]byte, 1<<20)
				for _, s := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
					if strings.Contains(s, "caches/v4.ease(") && strings.Contains(s, "sync.(*WaitGroup).Wait(") {
						return true
					}
				}
				return false
			})
			close(release)
			wait.Wait()
			require.Equal(t, []string{"first"}, titles(mine), "the Easer hides the write")
		})
	}
}
