package redisstore

import (
	"context"
	"maps"
	"sync"
	"time"
)

const (
	firstPayment = 10 * time.Millisecond
	lastPayment  = time.Second
)

// debts are the buckets of whose users an Advance has failed: nobody knows whether
// Redis has it, and other processes must not be sure that it has. They are told by
// removing the bucket's marker, by the next call for that bucket or by a goroutine that
// lives as long as something is owed.
type debts struct {
	mu     sync.Mutex
	owed   map[byte]uint64 // how often it was failed, so that a payment covers what came before it
	failed uint64
	last   time.Time
	paying bool
	closed bool
	wg     sync.WaitGroup
	done   chan struct{}
}

// owe notes that an Advance of a bucket has failed; pay is run by the goroutine.
func (d *debts) owe(bucket byte, pay func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed++
	d.owed[bucket] = d.failed
	d.last = time.Now()
	if !d.paying && !d.closed {
		d.paying = true
		d.wg.Go(pay)
	}
}

// of returns what a call for a bucket must pay; 0: nothing.
func (d *debts) of(bucket byte) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.owed[bucket]
}

// paid takes a debt away, unless another one has come meanwhile.
func (d *debts) paid(bucket byte, debt uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if debt != 0 && d.owed[bucket] == debt {
		delete(d.owed, bucket)
	}
}

func (d *debts) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.owed)
}

// all returns what is owed; nothing when it is too old to count.
func (d *debts) all(life time.Duration) map[byte]uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.last) > life {
		clear(d.owed)
	}
	return maps.Clone(d.owed)
}

// over reports whether nothing is owed any more, and then the goroutine must end.
func (d *debts) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paying = len(d.owed) > 0
	return !d.paying
}

// pay removes markers until nothing is owed or the store is closed.
func (s *Store) pay() {
	wait := firstPayment
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-s.debts.done:
			return
		}
		paid := s.payAll(context.Background(), s.debts.all(s.life()))
		if s.debts.over() {
			return
		}
		if paid {
			wait = firstPayment
		} else {
			wait = min(2*wait, lastPayment)
		}
		timer.Reset(wait)
	}
}

// payAll reports whether all of list was paid. It stops at the first that fails.
func (s *Store) payAll(ctx context.Context, list map[byte]uint64) bool {
	for bucket, debt := range list {
		_, err := s.do(ctx, func(ctx context.Context) (any, error) {
			return s.client.Del(ctx, markerKey(s.options.Prefix, bucket)).Result()
		})
		if err != nil {
			return false
		}
		s.paid(bucket, debt)
	}
	return true
}

func (s *Store) paid(bucket byte, debt uint64) {
	s.debts.paid(bucket, debt)
	s.reported.Add(1)
}
