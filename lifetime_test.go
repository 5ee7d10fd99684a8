package readsplit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

// What a token proves, and until when: a write of another process, which this one
// knows nothing of, on replicas that stand still from the moment of the write. Without
// a token its reads miss the write for up to MaxLag, and not after: a token that ended
// earlier would leave them to it. With one none misses it.
func TestTokenLifetimeIsDerived(t *testing.T) {
	const lag, age = 1500 * time.Millisecond, 400 * time.Millisecond
	c := cluster(t)
	d := newDB(t, c, configured(func(c *readsplit.Config) {
		c.MaxLag, c.MaxSampleAge, c.SampleEvery, c.StickyWindow = lag, age, 50*time.Millisecond, lag+age
	}))
	counters(t, d, 1)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	d.eligible(t, "replica1", "replica2")
	other := direct(t, c.Primary(), d.name)
	var text string
	require.NoError(t, other.QueryRowContext(t.Context(), "SELECT pg_current_wal_flush_lsn()").Scan(&text))
	undo := still(t, c)
	_, err := other.ExecContext(t.Context(), "UPDATE counters SET n = 1 WHERE id = 1")
	require.NoError(t, err)
	wrote := time.Now()
	require.NoError(t, other.QueryRowContext(t.Context(), "SELECT pg_current_wal_flush_lsn()").Scan(&text))
	at, err := lsn.ParseLSN(text)
	require.NoError(t, err)
	position := lsn.Position{History: d.plugin.Status().Primary.Position.History, LSN: at}
	token := encoded(t, readsplit.Token{Issued: wrote, Expires: wrote.Add(time.Hour), Positions: []lsn.Position{position}}, nil)

	var why policy.Reason
	read := func(ctx context.Context) (n int) {
		tx := d.WithContext(ctx).Raw("SELECT n FROM counters WHERE id = 1").Scan(&n)
		require.NoError(t, tx.Error)
		why = reason(t, tx)
		return n
	}
	var missed time.Duration // the age of the write in the last read that missed it
	reads := 0
	for end := wrote.Add(2 * (lag + age)); time.Now().Before(end); reads++ {
		since := time.Since(wrote)
		if read(nobody()) == 0 {
			missed = since
		}
		// A session of its own: what a token says here binds others.
		require.Equal(t, 1, read(readsplit.Stale(elsewhere(t, token))), "with the token, after %v", time.Since(wrote))
		if since > lag && since < lag+age {
			// A machine that is busy for longer than MaxSampleAge has no news of the replicas.
			if n := read(readsplit.Stale(nobody())); why != policy.ReasonOldNews {
				require.Equal(t, 0, n, "without a bound no time proves anything")
			}
		}
	}
	t.Logf("missed without a token for %v of %v, in %d reads", missed, lag, reads)
	assert.Greater(t, missed, lag/2, "a shorter lifetime would have missed it")
	assert.LessOrEqual(t, missed, lag, "the bound proves it from then on")
	undo()

	least := session.Lifetime(lag, age, lag+age)
	own, err := func() (readsplit.Token, error) {
		s := joined(token)
		ctx := readsplit.WithSession(t.Context(), s)
		read(ctx)
		return s.Export(ctx)
	}()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, own.Expires.Sub(own.Issued), least)
}

// Whatever a token says of its own end, it binds by what cannot be compared for as
// long as this process's configuration makes of it.
func TestTokenIsJudgedByTheReadersLifetime(t *testing.T) {
	const lag = 2 * time.Second
	x := newTrap(t, configured(func(c *readsplit.Config) {
		c.MaxLag, c.MaxSampleAge, c.StickyWindow = lag, time.Second, 5*time.Second
	}))
	lifetime := session.Lifetime(lag, time.Second, 5*time.Second)
	_, err := x.cluster.Replica(1).PauseReplay(limit(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.cluster.UndoAll()) })
	genuine := x.token(t)
	restarted := func(issued time.Duration) func(*readsplit.Token) {
		return func(t *readsplit.Token) {
			t.Positions[0].Incarnation++
			t.Issued = t.Issued.Add(issued)
			t.Expires = t.Issued.Add(session.MaxTokenLifetime)
		}
	}
	unsure := func(issued time.Duration) func(*readsplit.Token) {
		return func(t *readsplit.Token) {
			t.Positions, t.Issued = nil, t.Issued.Add(issued)
			t.Expires = t.Issued.Add(session.MaxTokenLifetime)
			t.Unsure = t.Expires
		}
	}
	for name, c := range map[string]struct {
		change func(*readsplit.Token)
		unsure bool
	}{
		"of another start, now":                      {restarted(0), true},
		"of another start, by a clock ahead":         {restarted(session.MaxTokenSkew - 5*time.Second), true},
		"of another start, by a clock behind":        {restarted(-session.MaxTokenSkew), true},
		"of another start, just within its lifetime": {restarted(-lifetime + 20*time.Second), true},
		"of another start, just past its lifetime":   {restarted(-lifetime - time.Second), false},
		"of another start, weeks old":                {restarted(-25 * 24 * time.Hour), false},
		"in doubt for a month":                       {unsure(0), true},
		"in doubt for a month, past its lifetime":    {unsure(-lifetime - time.Second), false},
		"a small doubt, past its end": {func(t *readsplit.Token) {
			t.Positions, t.Issued, t.Unsure = nil, t.Issued.Add(-time.Minute), t.Issued.Add(-50*time.Second)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			x.past(t, "INSERT INTO books_t (title) VALUES ('more')") // replica2 lacks it
			var have int
			require.NoError(t, x.admin.QueryRowContext(limit(t), "SELECT count(*) FROM books_t").Scan(&have))
			s := joined(encoded(t, genuine, c.change))
			db := x.WithContext(readsplit.WithSession(t.Context(), s))
			var n int
			tx := db.Raw("SELECT count(*) FROM books_t").Scan(&n)
			require.NoError(t, tx.Error)
			assert.Equal(t, c.unsure, reason(t, tx) == policy.ReasonUnsure, reason(t, tx).String())
			assert.Equal(t, have, n, "either way it sees what the primary has")
			if !c.unsure {
				eventually(t, "a replica to serve it", func() bool { return served(t, db) == "replica1" })
			}
			assert.True(t, s.Changed(), "a carrier is told, so that it does not come again")
		})
	}
}
