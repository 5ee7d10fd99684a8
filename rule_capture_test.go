package readsplit_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// question is one statement that the primary ran, by its own log.
type question struct {
	began, ended time.Duration // since 1970
}

// logged reads from a server's log every statement that begins with a text. The
// server logs its end with its duration.
func logged(t testing.TB, s *testenv.Server, beginning string) (list []question) {
	t.Helper()
	f, err := os.Open(s.LogFile())
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		// "1764451200.123 LOG:  duration: 0.123 ms  execute stmt: SELECT ..."
		stamp, rest, _ := strings.Cut(lines.Text(), " ")
		_, rest, ok := strings.Cut(rest, "duration: ")
		if !ok || !strings.Contains(rest, ": "+beginning) {
			continue
		}
		took, _, _ := strings.Cut(rest, " ms")
		at, err := strconv.ParseFloat(stamp, 64)
		require.NoError(t, err, lines.Text())
		ms, err := strconv.ParseFloat(took, 64)
		require.NoError(t, err, lines.Text())
		ended := time.Duration(at * float64(time.Second))
		list = append(list, question{began: ended - time.Duration(ms*float64(time.Millisecond)), ended: ended})
	}
	require.NoError(t, lines.Err())
	return list
}

// R1: a write costs no question of its own, and whoever must know a position shares
// the question with everybody else. The primary's own log is the witness.
func TestR01WritersShareCaptures(t *testing.T) {
	c := testenv.Start(t, testenv.Setting("log_min_duration_statement", "0"), testenv.Setting("log_line_prefix", "%n "))
	// On a busy machine the primary seems farther than reads wait by default, and would be
	// asked with each write.
	d := newDB(t, c, configured(func(c *readsplit.Config) { c.MaxWait = time.Second }))
	counters(t, d, 64)
	const beginning = "SELECT concat_ws(' ', 'c1'"

	t.Run("nobody asks", func(t *testing.T) {
		d.eligible(t, "replica1", "replica2")
		before := len(logged(t, c.Primary(), beginning))
		began := time.Now()
		samples := d.plugin.Status().Captures
		ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
		for n := range 300 {
			require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = ? WHERE id = 1", n).Error)
		}
		samples = d.plugin.Status().Captures - samples
		took := time.Since(began)
		assert.Equal(t, before, len(logged(t, c.Primary(), beginning)), "writes alone must not ask for a position")
		// Regular samples are captures too: one per SampleEvery less a tenth.
		assert.LessOrEqual(t, int(samples), int(took/(180*time.Millisecond))+1)
	})

	t.Run("everybody asks", func(t *testing.T) {
		before := len(logged(t, c.Primary(), beginning))
		const writers, writes = 64, 12
		var all sync.WaitGroup
		var missing, onReplica atomic.Int64
		sessions := make([]context.Context, writers)
		for id := range sessions {
			sessions[id] = readsplit.WithSession(context.Background(), readsplit.NewSession())
		}
		each := func(do func(id int, db *gorm.DB)) {
			for id, ctx := range sessions {
				all.Go(func() { do(id, d.WithContext(ctx)) })
			}
			all.Wait()
		}
		// All write, and then all read: on a busy machine one after the other would.
		for n := range writes {
			each(func(id int, db *gorm.DB) {
				assert.NoError(t, db.Exec("UPDATE counters SET n = ? WHERE id = ?", n, id).Error)
			})
			each(func(id int, db *gorm.DB) {
				var row struct {
					N      int
					Server string
				}
				assert.NoError(t, db.Raw("SELECT n, current_setting('cluster_name') AS server FROM counters WHERE id = ?", id).Scan(&row).Error)
				if row.N != n {
					missing.Add(1)
				}
				if row.Server != "primary" {
					onReplica.Add(1)
				}
			})
		}
		assert.Zero(t, missing.Load())
		asked := logged(t, c.Primary(), beginning)[before:]
		require.NotEmpty(t, asked, "somebody must have asked, or this proves nothing")
		assert.Less(t, len(asked), writers*writes/4, "%d reads right after a write must share", writers*writes)
		span := asked[len(asked)-1].ended - asked[0].began
		assert.LessOrEqual(t, len(asked), int(span/(500*time.Microsecond))+4, "more than 2,000 a second")
		for i := 1; i < len(asked); i++ {
			// The log's clock has whole milliseconds.
			require.GreaterOrEqual(t, asked[i].began-asked[i-1].ended, -time.Millisecond, "two captures in flight: %s", fmt.Sprint(asked[i-1:i+1]))
		}
		t.Logf("%d captures for %d writes, %d reads on replicas", len(asked), writers*writes, onReplica.Load())
	})
}

// R1: what a session wrote a while ago is judged by a position from soon after it.
// By the position of now, replicas that are a little behind would be refused for
// writes that the session does not know of.
func TestR01LateQuestionIsJudgedByAnEarlyPosition(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(steady))
	counters(t, d, 32)
	for _, r := range c.Replicas() {
		defer undone(t, injected(t)(r.Delay(t.Context(), 300*time.Millisecond)))
	}
	stop := make(chan struct{})
	var others sync.WaitGroup
	defer others.Wait()
	defer close(stop)
	others.Go(func() { // so that the position of now is always ahead of the replicas
		ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				if !assert.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = ? WHERE id = 0", n).Error) {
					return
				}
			}
		}
	})
	var contexts []context.Context
	for id := range 20 {
		ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
		require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = 7 WHERE id = ?", id+1).Error)
		contexts = append(contexts, ctx)
	}
	written := time.Now()
	eventually(t, "the users to have thought", func() bool { return time.Since(written) > time.Second })
	for i, r := range c.Replicas() {
		there := direct(t, r, d.name)
		eventually(t, "what they wrote to be there", func() bool {
			var n int
			require.NoError(t, there.QueryRowContext(limit(t), "SELECT count(*) FROM counters WHERE n = 7 AND id BETWEEN 1 AND 20").Scan(&n))
			return n == 20
		})
		replayed := time.Now()
		eventually(t, "the plugin to know", func() bool { return d.plugin.Status().Replicas[i].Sampled.After(replayed) })
	}
	for id, ctx := range contexts {
		var row struct {
			N      int
			Server string
		}
		require.NoError(t, d.WithContext(ctx).Raw("SELECT n, current_setting('cluster_name') AS server FROM counters WHERE id = ?", id+1).Scan(&row).Error)
		assert.Equal(t, 7, row.N)
		assert.NotEqual(t, "primary", row.Server, "user %d", id)
	}
}
