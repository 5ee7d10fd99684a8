package readsplit_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/policy"
)

// All replicas lag, 64 users read: the primary never works on more than the budget
// at once, whichever way they read, by the clock and by the view of the primary
// itself; and it is used to the full.
func TestBudgetIsNeverExceeded(t *testing.T) {
	const places = 4
	eachOverloaded(t, overload.Budget{Reads: places, MaxWait: time.Minute}, func(t *testing.T, x *trap) {
		ways := []func(db *gorm.DB) (span, error){
			func(db *gorm.DB) (s span, err error) { return s, db.Raw(spanSQL).Scan(&s).Error },
			func(db *gorm.DB) (s span, err error) {
				return s, db.Table("(" + spanSQL + ") AS s").Take(&s).Error
			},
			func(db *gorm.DB) (s span, err error) {
				var slept string
				return s, db.Raw(spanSQL).Row().Scan(&s.Began, &s.Server, &slept, &s.Ended)
			},
			func(db *gorm.DB) (s span, err error) {
				rows, err := db.Raw(spanSQL).Rows()
				if err != nil {
					return s, err
				}
				for rows.Next() {
					err = errors.Join(err, db.ScanRows(rows, &s))
				}
				return s, errors.Join(err, rows.Close(), rows.Err())
			},
			func(db *gorm.DB) (s span, err error) {
				err = db.Transaction(func(tx *gorm.DB) error { return tx.Raw(spanSQL).Scan(&s).Error }, &sql.TxOptions{ReadOnly: true})
				return s, err
			},
		}
		watch, stop := make(chan int, 1), make(chan struct{})
		go func() {
			seen := 0
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					watch <- seen
					return
				case <-tick.C:
					var n int
					err := x.cluster.Primary().DB().QueryRow("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND state = 'active' AND query LIKE '%nap(%'", x.schema).Scan(&n)
					assert.NoError(t, err)
					seen = max(seen, n)
				}
			}
		}()
		var mu sync.Mutex
		var spans []span
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				db := x.WithContext(nobody())
				for j := range 5 {
					s, err := ways[(i+j)%len(ways)](db)
					if !assert.NoError(t, err) {
						return
					}
					mu.Lock()
					spans = append(spans, s)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		close(stop)
		seen := <-watch
		require.Len(t, spans, 64*5)
		for _, s := range spans {
			require.Equal(t, "primary", s.Server)
		}
		assert.Equal(t, places, most(spans), "by the clock")
		assert.LessOrEqual(t, seen, places, "in pg_stat_activity")
		assert.Positive(t, seen)
		st := x.budget()
		assert.Equal(t, [4]uint64{places, 0, 0, 0}, [4]uint64{uint64(st.Reads), uint64(st.InUse), uint64(st.Waiting), st.Refused})
		assert.Greater(t, st.Waited, uint64(64))
		assert.Greater(t, st.WaitedFor, time.Second)
		t.Logf("%d reads, %d waited, %v on average; the primary saw at most %d", len(spans), st.Waited, (st.WaitedFor / time.Duration(st.Waited)).Round(time.Millisecond), seen)
	})
}

// What belongs on the primary runs there at once while all places are taken.
func TestBudgetDoesNotBoundWhatBelongsOnThePrimary(t *testing.T) {
	eachOverloaded(t, overload.Budget{Reads: 1, MaxWait: time.Hour}, func(t *testing.T, x *trap) {
		x.full(t)
		waiting, cancel := context.WithCancel(nobody())
		waiter := x.aside(waiting)
		x.waits(t, 1)

		ctx := limit(t)
		var b book
		var n int
		for name, run := range map[string]func() *gorm.DB{
			"write":     func() *gorm.DB { return x.WithContext(ctx).Create(&book{Title: "new"}) },
			"raw write": func() *gorm.DB { return x.WithContext(ctx).Exec("UPDATE books_t SET title = title") },
			"returning": func() *gorm.DB {
				return x.WithContext(ctx).Raw("UPDATE books_t SET title = title RETURNING id").Scan(&n)
			},
			"fresh": func() *gorm.DB { return x.WithContext(readsplit.Fresh(ctx)).First(&book{}) },
			"locking read": func() *gorm.DB {
				return x.WithContext(ctx).Table("books_t").Clauses(clause.Locking{Strength: "UPDATE"}).Select("id").Take(&n)
			},
			"unknown":          func() *gorm.DB { return x.WithContext(ctx).Raw("SELECT nextval('books_t_id_seq')").Scan(&n) },
			"first or init":    func() *gorm.DB { return x.WithContext(ctx).Where("title = ?", "one").FirstOrInit(&b) },
			"in a transaction": func() *gorm.DB { return begun(ctx, x).First(&book{}) },
			"in a hook": func() *gorm.DB {
				return x.WithContext(context.WithValue(ctx, hooksKey{}, hooks{"AfterCreate": func(tx *gorm.DB) error { return tx.First(&book{}).Error }})).Create(&hookedBook{Title: "h"})
			},
		} {
			assert.NoError(t, run().Error, name)
			assert.NoError(t, ctx.Err(), name)
			assert.Equal(t, 1, x.budget().Waiting, name)
		}
		cancel()
		require.ErrorIs(t, (<-waiter).err, context.Canceled)
	})
	t.Run("preferred", func(t *testing.T) {
		x := newOverloaded(t, overload.Budget{Reads: 1, Beyond: overload.Fail}, configured(func(c *readsplit.Config) { c.Default = readsplit.PreferPrimary }))
		x.full(t)
		busy(t, x.WithContext(readsplit.UseReplica(nobody())).Find(&[]book{}).Error)
		require.NoError(t, x.WithContext(nobody()).Find(&[]book{}).Error, "it is there by configuration")
	})
	t.Run("without replicas", func(t *testing.T) {
		x := newTrap(t, configured(func(c *readsplit.Config) {
			c.Replicas, c.PrimaryBudget = nil, overload.Budget{Reads: 1, Beyond: overload.Fail}
		}))
		for range 3 {
			x.occupy(t)
		}
		assert.Zero(t, x.budget().InUse)
	})
}

// begun is a transaction on the primary; it ends with the context.
func begun(ctx context.Context, x *trap) *gorm.DB { return x.WithContext(ctx).Begin() }

// What was looked for once more, or refused by a replica, has been tried where it
// wanted to be.
func TestBudgetDoesNotBoundSecondLooks(t *testing.T) {
	x := newTrap(t, configured(func(c *readsplit.Config) { c.PrimaryBudget = overload.Budget{Reads: 1, Beyond: overload.Fail} }),
		saidToRead("touch"))
	x.past(t, "CREATE FUNCTION touch() RETURNS int LANGUAGE sql AS 'UPDATE books_t SET title = title; SELECT 1'")
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
	x.stale(t) // the replicas serve still, whatever they lack
	session, _ := x.session()
	require.NoError(t, session.Exec("UPDATE books_t SET title = title").Error)
	rows, err := session.Raw("SELECT generate_series(1, 3)").Rows()
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	require.Equal(t, 1, x.budget().InUse)

	var b book
	tx := x.WithContext(readsplit.Recheck(nobody())).Where("title = ?", "two").Take(&b)
	require.NoError(t, tx.Error)
	assert.Equal(t, policy.ReasonNotFoundRecheck, reason(t, tx))
	var n int
	tx = x.WithContext(nobody()).Raw("SELECT touch()").Scan(&n)
	require.NoError(t, tx.Error)
	assert.Equal(t, policy.ReasonRefusedByReplica, reason(t, tx))
	busy(t, session.Find(&[]book{}).Error)
}

// Beyond the budget: Wait.
func TestBudgetWait(t *testing.T) {
	x := newOverloaded(t, overload.Budget{Reads: 2, MaxWait: 50 * time.Millisecond})
	rows := x.full(t)
	began := time.Now()
	_, err := x.span(nobody())
	assert.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
	b := busy(t, err)
	assert.Equal(t, [3]int{2, 2, 0}, [3]int{b.Reads, b.Running, b.Waiting})
	assert.GreaterOrEqual(t, b.Waited, 50*time.Millisecond)
	assert.ErrorContains(t, err, "2 run and 0 wait within Config.PrimaryBudget.Reads, 2")
	var name string
	row := x.WithContext(nobody()).Raw(whoSQL).Row()
	busy(t, row.Scan(&name))
	_, err = x.WithContext(nobody()).Raw(whoSQL).Rows()
	busy(t, err)
	busy(t, x.WithContext(nobody()).Exec(whoSQL).Error)

	closed(t, rows[0])
	s, err := x.span(nobody())
	require.NoError(t, err)
	assert.Equal(t, "primary", s.Server)
	st := x.budget()
	assert.Equal(t, uint64(4), st.Waited)
	assert.Equal(t, uint64(4), st.Refused)
	assert.GreaterOrEqual(t, st.WaitedFor, 200*time.Millisecond)
}

// Beyond the budget: ServeStale. A session's own writes are seen all the same.
func TestBudgetServeStale(t *testing.T) {
	eachOverloaded(t, overload.Budget{Reads: 1, Beyond: overload.ServeStale, MaxWait: 50 * time.Millisecond}, func(t *testing.T, x *trap) {
		rows := x.full(t)
		server, d := servedBy(t, x.WithContext(nobody()))
		onReplica(t, server)
		assert.Equal(t, policy.ReasonServedStale, d.Reason)
		assert.True(t, d.Replica)
		assert.Equal(t, uint64(1), x.plugin.Status().Reasons[policy.ReasonServedStale])
		assert.Equal(t, uint64(1), x.budget().ServedStale)
		assert.Zero(t, x.budget().Waited)

		t.Run("with its preloads", func(t *testing.T) {
			var a author
			tx := x.WithContext(nobody()).Preload("Books").Take(&a)
			require.NoError(t, tx.Error)
			assert.Equal(t, policy.ReasonServedStale, reason(t, tx))
			require.Len(t, a.Books, 1)
			assert.Equal(t, a.Server, a.Books[0].Server)
		})
		t.Run("not without its own write", func(t *testing.T) {
			session, _ := x.session()
			require.NoError(t, session.Exec("INSERT INTO books_t (title, author_id) VALUES ('mine', 1)").Error)
			b := busy(t, session.Where("title = ?", "mine").Take(&book{}).Error)
			assert.GreaterOrEqual(t, b.Waited, 50*time.Millisecond)
		})
		t.Run("not with a bound of its own", func(t *testing.T) {
			busy(t, x.WithContext(readsplit.AtMost(nobody(), time.Second/4)).Take(&book{}).Error)
		})
		t.Run("not when it is unsure", func(t *testing.T) {
			session, ctx := x.session()
			ended, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			require.Error(t, x.WithContext(ended).Exec("UPDATE books_t SET title = nap(60)").Error)
			busy(t, session.Take(&book{}).Error)
		})
		t.Run("not what has begun on the primary", func(t *testing.T) {
			closed(t, rows...)
			ctx := context.WithValue(nobody(), hooksKey{}, hooks{"AfterFind": func(tx *gorm.DB) error {
				x.full(t) // others come in between the two
				return tx.Session(&gorm.Session{NewDB: true}).Take(&book{}).Error
			}})
			busy(t, x.WithContext(ctx).Take(&hookedBook{}).Error)
		})
	})
}

// Beyond the budget: Fail.
func TestBudgetFail(t *testing.T) {
	x := newOverloaded(t, overload.Budget{Reads: 1, Beyond: overload.Fail})
	rows := x.full(t)
	served := x.plugin.Status().PrimaryReads
	b := busy(t, x.WithContext(nobody()).Take(&book{}).Error)
	assert.Equal(t, overload.BusyError{Reads: 1, Running: 1}, *b)
	assert.Equal(t, uint64(1), x.budget().Refused)
	// It is seen, though nobody has served it.
	assert.Equal(t, map[policy.Reason]uint64{policy.ReasonLagging: 1}, x.plugin.Status().RefusedReasons)
	assert.Equal(t, served, x.plugin.Status().PrimaryReads)
	closed(t, rows...)
	require.NoError(t, x.WithContext(nobody()).Take(&book{}).Error)
	assert.Zero(t, x.budget().Waited)

	// What belongs to a read that was let in is not failed for nothing.
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				var authors []author
				err := x.WithContext(nobody()).Preload("Books").Find(&authors).Error
				if err != nil {
					assert.ErrorIs(t, err, overload.ErrPrimaryBusy)
					assert.Empty(t, authors, "it was let in, and failed in its preload")
				} else if assert.Len(t, authors, 1) {
					assert.Len(t, authors[0].Books, 1)
				}
			}
		})
	}
	all.Wait()
	assert.Zero(t, x.budget().InUse)
}

// Whoever has the higher priority is let in first, although they came later.
func TestBudgetPriorities(t *testing.T) {
	x := newOverloaded(t, overload.Budget{Reads: 1, MaxWait: time.Minute})
	rows := x.full(t)
	low := x.aside(overload.WithPriority(nobody(), overload.Low))
	x.waits(t, 1)
	normal := x.aside(nobody())
	x.waits(t, 2)
	high := x.aside(overload.WithPriority(nobody(), overload.High))
	x.waits(t, 3)
	closed(t, rows...)
	h, n, l := <-high, <-normal, <-low
	require.NoError(t, errors.Join(h.err, n.err, l.err))
	assert.False(t, h.Ended.After(n.Began), "%v %v", h, n)
	assert.False(t, n.Ended.After(l.Began), "%v %v", n, l)
	assert.Equal(t, uint64(3), x.budget().Waited)
}

// A wait ends with its context.
func TestBudgetWaitEndsWithItsContext(t *testing.T) {
	x := newOverloaded(t, overload.Budget{Reads: 1, MaxWait: time.Hour})
	x.full(t)
	ctx, cancel := context.WithCancel(nobody())
	read := x.aside(ctx)
	x.waits(t, 1)
	cancel()
	r := <-read
	busy(t, r.err)
	require.ErrorIs(t, r.err, context.Canceled)
	st := x.budget()
	assert.Equal(t, [3]int{1, 0, 1}, [3]int{st.InUse, st.Waiting, int(st.Refused)})
}
