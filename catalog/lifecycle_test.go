package catalog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/sqlclass"
)

// fake answers when it is told to. Its database has one function, f.
type fake struct {
	loads, looks chan answer
}

type answer struct {
	volatile bool
	mark     string
	err      error
}

func (f *fake) look(ctx context.Context) (string, error) {
	select {
	case a := <-f.looks:
		return a.mark, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (f *fake) load(ctx context.Context) (*facts, error) {
	select {
	case a := <-f.loads:
		if a.err != nil {
			return nil, a.err
		}
		facts := newFacts()
		facts.mark = a.mark
		facts.functions = []function{{oid: 20000, name: name{"public", "f"}, volatile: a.volatile}}
		return facts, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func faked(t *testing.T, cfg Config) (*Catalog, *fake) {
	t.Helper()
	cfg, said, err := cfg.complete()
	require.NoError(t, err)
	f := &fake{loads: make(chan answer), looks: make(chan answer)}
	return newCatalog(cfg, said, f), f
}

func reads(c *Catalog, sql string) bool {
	return c.Judge(sql, sqlclass.Classify(sqlclass.PostgreSQL, sql)).Class == sqlclass.Read
}

func TestLoadFromBeforeRefreshDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := faked(t, Config{})
		c.Start()
		defer c.Close()
		assert.False(t, reads(c, "SELECT f()"))
		f.loads <- answer{mark: "1"}
		require.NoError(t, c.Wait(t.Context()))
		assert.True(t, reads(c, "SELECT f()"))

		c.Refresh()
		assert.False(t, reads(c, "SELECT f()"), "it may be another function now")
		synctest.Wait() // the load is in flight
		c.Refresh()
		f.loads <- answer{mark: "2"} // it began before the second change
		synctest.Wait()
		assert.False(t, reads(c, "SELECT f()"))
		assert.False(t, c.Status().Current)
		assert.Equal(t, 2, c.Status().Loads)

		f.loads <- answer{mark: "3", volatile: true}
		require.NoError(t, c.Wait(t.Context()))
		assert.False(t, reads(c, "SELECT f()"), "it became volatile")
		assert.Equal(t, 1, c.Status().Functions)
	})
}

func TestLookLoadsOnlyWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := faked(t, Config{Every: time.Minute})
		c.Start()
		defer c.Close()
		f.loads <- answer{mark: "1"}
		for range 3 {
			began := time.Now()
			f.looks <- answer{mark: "1"}
			assert.Equal(t, time.Minute, time.Since(began))
		}
		assert.Equal(t, 1, c.Status().Loads)
		f.looks <- answer{mark: "2"}
		f.loads <- answer{mark: "2", volatile: true}
		synctest.Wait()
		assert.False(t, reads(c, "SELECT f()"))
		f.looks <- answer{mark: "2"}
		assert.Equal(t, 2, c.Status().Loads)
	})
}

func TestSlowLooksAreRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := faked(t, Config{Every: time.Second})
		c.Start()
		defer c.Close()
		f.loads <- answer{mark: "1"}
		<-time.After(time.Second + 400*time.Millisecond) // a look is in flight for 400 ms
		f.looks <- answer{mark: "1"}
		began := time.Now()
		f.looks <- answer{mark: "1"}
		assert.Equal(t, 400*time.Millisecond+looksApart*400*time.Millisecond, time.Since(began))

		<-time.After(time.Second + 5*time.Second) // this one is in flight for 5 s
		f.looks <- answer{mark: "1"}
		began = time.Now()
		f.looks <- answer{mark: "1"}
		assert.Equal(t, defaultEvery+longestApart, time.Since(began)) // after the rest that loads take too
	})
}

func TestManyRefreshesLeaveTimeBetweenLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := faked(t, Config{Every: -1})
		c.Start()
		defer c.Close()
		for range 5 {
			began := time.Now()
			<-time.After(300 * time.Millisecond) // the load takes that long
			f.loads <- answer{mark: "1"}
			loaded := time.Now()
			c.Refresh()
			synctest.Wait()
			<-time.After(299 * time.Millisecond)
			select {
			case f.loads <- answer{}:
				t.Error("the next load came at once")
			default:
			}
			<-time.After(time.Millisecond)
			synctest.Wait()
			assert.Equal(t, 300*time.Millisecond, loaded.Sub(began))
		}
	})
}

func TestFailuresAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []error
		c, f := faked(t, Config{Every: time.Second, OnError: func(err error) { told = append(told, err) }})
		c.Start()
		defer c.Close()
		gone, refused := errors.New("gone"), errors.New("refused")
		f.loads <- answer{err: gone}
		f.loads <- answer{err: refused}
		synctest.Wait()
		assert.Equal(t, []error{gone}, told)
		assert.Equal(t, refused, c.Status().Err)

		f.loads <- answer{mark: "1"}
		synctest.Wait()
		assert.NoError(t, c.Status().Err)
		f.looks <- answer{err: refused}
		synctest.Wait()
		assert.Equal(t, []error{gone, refused}, told)
		assert.True(t, reads(c, "SELECT f()"), "what is known stays in use")
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan error, 1)
		c, _ := faked(t, Config{Timeout: time.Second, Every: -1, OnError: func(err error) { told <- err }})
		began := time.Now()
		c.Start()
		defer c.Close()
		assert.ErrorIs(t, <-told, context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(began))
	})
}

func TestRefreshIsRetriedWithoutLooking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := faked(t, Config{Every: -1})
		c.Start()
		defer c.Close()
		f.loads <- answer{err: errors.New("gone")}
		f.loads <- answer{mark: "1"}
		require.NoError(t, c.Wait(t.Context()))
	})
}

func TestCloseJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
		never, _ := faked(t, Config{})
		never.Close()
		never.Close()
		never.Start() // too late
		never.Refresh()
		assert.Equal(t, errClosed, never.Wait(t.Context()))

		told := 0
		c, _ := faked(t, Config{OnError: func(error) { told++ }})
		c.Start()
		c.Start()
		synctest.Wait() // the load is in flight
		waiting := make(chan error)
		go func() { waiting <- c.Wait(context.Background()) }()
		c.Close()
		assert.Equal(t, errClosed, <-waiting)
		assert.Zero(t, told, "Close breaks a load off: no failure")
		c.Close()
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	c, _ := faked(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Equal(t, context.Canceled, c.Wait(ctx))
}

func TestNothingToAsk(t *testing.T) {
	c, err := New(Config{ReadFunctions: []string{"total"}})
	require.NoError(t, err)
	c.Start()
	c.Refresh()
	assert.Equal(t, errNothingToAsk, c.Wait(t.Context()))
	assert.True(t, reads(c, "SELECT total(1)"))
	assert.False(t, reads(c, "SELECT f(1)"))
	assert.Equal(t, Status{}, c.Status())
	c.Close()
}

func TestJudgeWhileEverythingChanges(t *testing.T) {
	c, f := faked(t, Config{Every: time.Millisecond})
	c.Start()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 200 {
			if n%3 == 0 {
				c.Refresh()
			}
			select {
			case f.loads <- answer{volatile: true}:
			case f.looks <- answer{mark: "again"}:
			}
		}
	}()
	for {
		assert.False(t, reads(c, "SELECT f()"))
		c.Status()
		select {
		case <-done:
			c.Close()
			return
		default:
		}
	}
}
