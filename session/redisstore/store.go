package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/readsplit/readsplit/session"
)

var (
	// ErrTimeout is what Load and Advance say when Redis does not answer in time. The
	// user belongs on the primary then; an Advance may have happened.
	ErrTimeout = errors.New("no answer from Redis in time")
	// ErrClosed is what a Store says after Close.
	ErrClosed = errors.New("readsplit: redisstore: the store is closed: keep its users on the primary")
)

// inFlight is how many calls may be with the client at once; others wait for a place.
// It bounds what is left behind when a server hangs, because a client can go on for
// longer than a Timeout.
const inFlight = 256

// margin makes tokens live longer in Redis, whose clock stands still for some
// milliseconds when it is busy.
const margin = 100 * time.Millisecond

// Store is a [session.Store] in Redis. Users are spread over 256 buckets; each has a
// marker that says which server wrote it, so that losses are noticed by whoever calls
// next, in whatever process:
//
//   - the marker is missing: Redis was started empty or flushed, or the marker evicted;
//   - its server's replication id is another one: the server was restarted, from
//     whatever file, or a replica was promoted, which may lack the last writes;
//   - its server has evicted keys since, of whomever;
//   - an Advance of some process has failed: that process removes the marker as soon
//     as it can;
//   - writes are refused (a replica, too few replicas, a disk that is full): calls fail;
//   - the server does not say who it is (no right to INFO): everybody is unsure always.
//
// Not noticed are: a token that somebody deletes by hand; a clock of Redis that jumps
// ahead, so that tokens expire early; a primary of Redis that is cut off and goes on
// taking writes beside a promoted one for longer than Options.Lifetime
// (min-replicas-to-write prevents it); a process that ends, or stays cut off from Redis, before it could say that
// its Advance has failed; CONFIG RESETSTAT followed by as many evictions as before.
//
// A Store starts a goroutine for each call, which ends with the client's own timeouts,
// and one as long as an Advance that failed is to be reported; Close joins them.
type Store struct {
	client  redis.UniversalClient
	script  *redis.Script
	options Options
	slots   chan struct{}
	longest atomic.Int64 // the longest that a token was seen to count
	debts   debts
	counters
}

var _ session.Store = (*Store)(nil)

// New returns a store over client, which stays the caller's. It asks Redis nothing, and
// fails when an option breaks its rule.
func New(client redis.UniversalClient, o Options) (*Store, error) {
	o, err := o.complete(client)
	if err != nil {
		return nil, err
	}
	s := &Store{client: client, script: redis.NewScript(source), options: o, slots: make(chan struct{}, inFlight)}
	s.debts.owed, s.debts.done = map[byte]uint64{}, make(chan struct{})
	return s, nil
}

// Load returns what user must see, in one round trip. When it fails, its token says
// unsure: the user belongs on the primary.
func (s *Store) Load(ctx context.Context, user string) (session.Token, error) {
	s.loads.Add(1)
	reply, reported, err := s.run(ctx, user)
	now := time.Now()
	var a answer
	var t session.Token
	if err == nil {
		a, t, err = parse(reply, now, s.options.StickyWindow)
	}
	if err != nil {
		s.loadFailures.Add(1)
		return session.Token{Issued: now, Expires: now.Add(s.life()), Unsure: now.Add(s.options.StickyWindow)}, err
	}
	if !reported {
		s.noticed(a.why)
	}
	if a.lostFor > 0 {
		s.unsure.Add(1)
	}
	return t, nil
}

// Advance makes what is kept for user say at least what t says, in one round trip. It
// goes on when ctx is cancelled, because what t says has happened, and at most for
// Options.Timeout. When it fails, other processes learn that their users of the same
// bucket must be unsure, as soon as Redis can be reached.
func (s *Store) Advance(ctx context.Context, user string, t session.Token) error {
	now := time.Now()
	if !t.Expires.After(now) || len(t.Positions) == 0 && t.Unsure.IsZero() {
		return nil // it says nothing, or nothing any more
	}
	s.advances.Add(1)
	lives := min(t.Expires.Sub(now), session.MaxTokenLifetime) + margin
	for longest := s.longest.Load(); int64(lives) > longest && !s.longest.CompareAndSwap(longest, int64(lives)); longest = s.longest.Load() {
	}
	// Merging with nothing leaves what can be kept: in order, and doubt for the rest.
	t = t.Merge(session.Token{})
	unsure := ""
	if !t.Unsure.IsZero() {
		unsure = milliseconds(max(t.Unsure.Sub(now), -session.MaxTokenLifetime))
	}
	_, _, err := s.run(context.WithoutCancel(ctx), user, milliseconds(lives), unsure, appendPositions(nil, t.Positions))
	if err != nil {
		s.advanceFailures.Add(1)
		bucket, _ := keysOf(s.options.Prefix, user)
		s.debts.owe(bucket, s.pay)
	}
	return err
}

// life is how long a token counts at most, as far as this process knows. It is in
// whole minutes, so that it does not change, and the marker with it, at every call.
func (s *Store) life() time.Duration {
	longest := time.Duration(s.longest.Load())
	if rest := longest % time.Minute; rest != 0 {
		longest += time.Minute - rest
	}
	return max(s.options.Lifetime, longest)
}

// run calls the script for a user. What is owed for the user's bucket is paid with it.
func (s *Store) run(ctx context.Context, user string, args ...any) (reply any, reported bool, err error) {
	bucket, keys := keysOf(s.options.Prefix, user)
	debt := s.debts.of(bucket)
	report := "0"
	if debt != 0 {
		report = "1"
	}
	args = append([]any{milliseconds(s.life()), report}, args...)
	reply, err = s.do(ctx, func(ctx context.Context) (any, error) {
		return s.script.Run(ctx, s.client, keys, args...).Result()
	})
	if err == nil && debt != 0 {
		s.paid(bucket, debt)
	}
	return reply, debt != 0, err
}

type outcome struct {
	value any
	err   error
}

// do asks Redis in time. A client may go on for longer than its context: reads of its
// sockets have timeouts of their own.
func (s *Store) do(ctx context.Context, ask func(ctx context.Context) (any, error)) (any, error) {
	select {
	case <-s.debts.done:
		return nil, ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("readsplit: redisstore: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	var o outcome
	select {
	case s.slots <- struct{}{}:
		o = s.ask(limited, ask)
	case <-s.debts.done:
		return nil, ErrClosed
	case <-limited.Done():
		o.err = limited.Err()
	}
	switch {
	case o.err == nil:
		return o.value, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("readsplit: redisstore: %w", ctx.Err())
	case limited.Err() != nil || errors.Is(o.err, context.DeadlineExceeded):
		s.timeouts.Add(1)
		return nil, fmt.Errorf("readsplit: redisstore: %w: Options.Timeout is %v", ErrTimeout, s.options.Timeout)
	}
	return nil, fmt.Errorf("readsplit: redisstore: %w", o.err)
}

// ask calls f, which holds a slot, and goes when ctx ends.
func (s *Store) ask(ctx context.Context, f func(ctx context.Context) (any, error)) (o outcome) {
	answered := make(chan outcome, 1)
	go func() {
		value, err := f(ctx)
		<-s.slots
		answered <- outcome{value, err}
	}()
	select {
	case o = <-answered:
	case <-ctx.Done():
		select {
		case o = <-answered: // both at once
		default:
			o.err = ctx.Err()
		}
	}
	return o
}

// Close reports what is still to be reported, and waits for what this store has
// started, at most until ctx ends. It may be called again. The client stays open.
func (s *Store) Close(ctx context.Context) error {
	s.payAll(ctx, s.debts.all(s.life()))
	s.debts.mu.Lock()
	if !s.debts.closed {
		s.debts.closed = true
		close(s.debts.done)
	}
	s.debts.mu.Unlock()
	s.debts.wg.Wait() // it sees that done is closed after one call at most
	for n := range inFlight {
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			for range n {
				<-s.slots
			}
			return fmt.Errorf("readsplit: redisstore: calls are still waiting for Redis: %w", ctx.Err())
		}
	}
	for range inFlight {
		<-s.slots
	}
	return nil
}
