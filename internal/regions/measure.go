package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ages are how long after a write its reads are counted together.
var ages = []time.Duration{
	0, 100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond, 400 * time.Millisecond,
	500 * time.Millisecond, 700 * time.Millisecond, time.Second, 3 * time.Second,
}

// bucket is the reads of one age.
type bucket struct {
	took    []time.Duration
	local   int
	trips   int // far round trips, by the time that the read took
	missing int // reads that did not see their user's write
}

// result is one form.
type result struct {
	form    string
	buckets []bucket // by ages; the last is of users who never wrote
	writes  int
}

// measure lets users write their own row, and look at it at every age until they write
// again. As many others look at rows of theirs and never write. What takes as long as n
// ways there and back has made n of them: nothing else here takes that long.
func (l *lab) measure(ctx context.Context, f *form) (*result, error) {
	res := &result{form: f.name, buckets: make([]bucket, len(ages)+1)}
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	until := time.Now().Add(l.o.length)
	for user := range 2 * l.o.users {
		all.Go(func() {
			u := &customer{lab: l, id: user, writes: user%2 == 0, rng: rand.New(rand.NewPCG(7, uint64(user))), buckets: make([]bucket, len(ages)+1)}
			if err := u.live(ctx, f, until); err != nil {
				failed.CompareAndSwap(nil, &err)
			}
			mu.Lock()
			defer mu.Unlock()
			res.writes += u.done
			for i := range u.buckets {
				to, from := &res.buckets[i], &u.buckets[i]
				to.took = append(to.took, from.took...)
				to.local, to.trips, to.missing = to.local+from.local, to.trips+from.trips, to.missing+from.missing
			}
		})
	}
	all.Wait()
	for i := range res.buckets {
		slices.Sort(res.buckets[i].took)
	}
	if err := failed.Load(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, *err)
	}
	return res, nil
}

type customer struct {
	*lab
	id      int
	writes  bool
	rng     *rand.Rand
	buckets []bucket
	done    int
}

func (u *customer) live(ctx context.Context, f *form, until time.Time) error {
	write, read := f.handles()
	var wrote time.Time
	want := int64(0)
	pause := time.NewTimer(time.Duration(u.rng.Int64N(int64(3 * time.Second))))
	defer pause.Stop()
	for range pause.C {
		now := time.Now()
		if now.After(until) {
			return nil
		}
		if u.writes && now.Sub(wrote) > 4*time.Second {
			want++
			if err := write.Exec("UPDATE users SET n = ? WHERE id = ?", want, u.id).Error; err != nil {
				return err
			}
			wrote = time.Now()
			u.done++
			if u.rng.IntN(2) == 0 { // some look at once, others think first
				pause.Reset(time.Duration(u.rng.Int64N(int64(1500 * time.Millisecond))))
				continue
			}
		}
		began := time.Now()
		var row struct {
			N      int64
			Server string
		}
		if err := read(wrote).Raw("SELECT n, current_setting('cluster_name') AS server FROM users WHERE id = ?", u.id).Scan(&row).Error; err != nil {
			return err
		}
		took := time.Since(began)
		b := &u.buckets[len(ages)]
		if !wrote.IsZero() {
			i := len(ages) - 1
			for began.Sub(wrote) < ages[i] {
				i--
			}
			b = &u.buckets[i]
		}
		b.took = append(b.took, took)
		if u.o.away > 0 {
			b.trips += int(took / (2 * u.o.away))
		}
		if row.Server == "replica1" {
			b.local++
		}
		if row.N < want {
			b.missing++
		}
		pause.Reset(time.Duration(20+u.rng.Int64N(60)) * time.Millisecond)
	}
	return nil
}

func (b *bucket) quantile(q float64) time.Duration {
	if len(b.took) == 0 {
		return 0
	}
	return b.took[int(q*float64(len(b.took)-1))]
}
