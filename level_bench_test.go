package readsplit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
)

// BenchmarkGuarantee measures what each level costs, side by side: the share of reads
// on replicas and the time of a read and of a request. One operation is one request of
// one of 64 users, each of whom carries a token from one request to the next, as a
// cookie would, and thinks for up to 100 ms in between. Three of four only read; every
// fifth request of the others begins with a write of their own row. All read it five
// times, and what they read is checked. `make levels` prints the table of
// docs/sessions.md.
func BenchmarkGuarantee(b *testing.B) {
	c := cluster(b)
	d := newDB(b, c, configured(func(c *readsplit.Config) { c.TokenKeys = [][]byte{signingKey} }))
	counters(b, d, usersOfBench)
	require.NoError(b, c.WaitCaughtUp(b.Context()))
	d.eligible(b, "replica1", "replica2")
	for _, behind := range []time.Duration{0, 20 * time.Millisecond, 200 * time.Millisecond} {
		for _, form := range []struct {
			name   string
			level  session.Guarantee
			prefer bool
		}{
			{"read_your_writes", session.ReadYourWrites, false},
			{"read_your_writes+prefer", session.ReadYourWrites, true},
			{"monotonic_reads", session.MonotonicReads, false},
			{"monotonic_reads+prefer", session.MonotonicReads, true},
			{"causal", session.Causal, false},
		} {
			b.Run(fmt.Sprintf("behind=%v/%s", behind, form.name), func(b *testing.B) {
				if behind > 0 {
					for _, r := range c.Replicas() {
						_, err := r.Delay(limit(b), behind)
						require.NoError(b, err)
					}
					defer func() { require.NoError(b, c.UndoAll()) }()
				}
				m := measured{d: d, level: form.level, prefer: form.prefer}
				m.run(b)
			})
		}
	}
}

const (
	usersOfBench, readsOfBench = 64, 5
	thinkOfBench               = 100 * time.Millisecond
)

// measured is one line of the table.
type measured struct {
	d      *testDB
	level  session.Guarantee
	prefer bool

	replica, total [2]atomic.Int64 // of those who only read, and of those who write
	mu             sync.Mutex
	reads          []time.Duration
	requests       []time.Duration
	moved          int // reads on another replica than the user's one before
}

func (m *measured) run(b *testing.B) {
	captures := m.d.plugin.Status().Captures
	began := time.Now()
	var next atomic.Int64
	var all sync.WaitGroup
	for user := range usersOfBench {
		all.Go(func() {
			u := benchUser{measured: m, id: user, rng: rand.New(rand.NewPCG(1, uint64(user)))}
			if user%4 == 0 {
				u.writer = 1
			}
			think := time.NewTimer(0)
			defer think.Stop()
			for range think.C {
				n := next.Add(1)
				if n > int64(b.N) {
					break
				}
				if err := u.request(b, u.writer == 1 && u.rng.IntN(5) == 0); err != nil {
					b.Error(err)
					return
				}
				think.Reset(time.Duration(u.rng.Int64N(int64(thinkOfBench))))
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			m.reads, m.requests, m.moved = append(m.reads, u.took...), append(m.requests, u.whole...), m.moved+u.moves
		})
	}
	all.Wait()
	took := time.Since(began)
	for i, of := range []string{"readers", "writers"} {
		if m.total[i].Load() == 0 {
			return // the run by which the number of operations is found
		}
		b.ReportMetric(100*float64(m.replica[i].Load())/float64(m.total[i].Load()), "%replica-"+of)
	}
	b.ReportMetric(100*float64(m.moved)/float64(m.total[0].Load()+m.total[1].Load()), "%moved")
	b.ReportMetric(quantile(m.reads, 0.5), "read-p50-us")
	b.ReportMetric(quantile(m.reads, 0.99), "read-p99-us")
	b.ReportMetric(quantile(m.requests, 0.5), "req-p50-us")
	b.ReportMetric(quantile(m.requests, 0.99), "req-p99-us")
	b.ReportMetric(float64(m.d.plugin.Status().Captures-captures)/took.Seconds(), "captures/s")
	b.ReportMetric(0, "ns/op") // users overlap: it says nothing
}

func quantile(all []time.Duration, q float64) float64 {
	slices.Sort(all)
	return float64(all[int(q*float64(len(all)-1))].Microseconds())
}

// benchUser is one user with a cookie jar.
type benchUser struct {
	*measured
	id     int
	writer int
	rng    *rand.Rand
	token  string
	wrote  int64
	server string
	moves  int
	took   []time.Duration
	whole  []time.Duration
}

func (u *benchUser) request(b *testing.B, writes bool) error {
	began := time.Now()
	s := readsplit.NewSession()
	s.SetGuarantee(u.level)
	if u.prefer {
		s.Prefer(fmt.Sprint("user ", u.id))
	}
	s.Join(u.token)
	ctx := readsplit.WithSession(b.Context(), s)
	db := u.d.WithContext(ctx)
	if writes {
		u.wrote = time.Now().UnixNano()
		if err := db.Exec("UPDATE counters SET n = ? WHERE id = ?", u.wrote, u.id).Error; err != nil {
			return err
		}
	}
	for range readsOfBench {
		var row struct {
			N      int64
			Server string
		}
		at := time.Now()
		if err := db.Raw("SELECT "+readersSelect+" FROM counters WHERE id = ?", u.id).Scan(&row).Error; err != nil {
			return err
		}
		u.took = append(u.took, time.Since(at))
		if row.N < u.wrote {
			return fmt.Errorf("user %d misses its own write on %s", u.id, row.Server)
		}
		u.total[u.writer].Add(1)
		if strings.HasPrefix(row.Server, "replica") {
			u.replica[u.writer].Add(1)
			if u.server != "" && u.server != row.Server {
				u.moves++
			}
			u.server = row.Server
		}
	}
	if s.Changed() {
		token, err := s.Token(ctx)
		if err != nil {
			return err
		}
		u.token = token
	}
	u.whole = append(u.whole, time.Since(began))
	return nil
}
