package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

const (
	// inTime is how long a call may take on a machine that is busy: a request waits
	// for it.
	inTime = 2 * time.Second
	// slack is what rounding and slow machines may add to a time.
	slack = 2 * time.Second
	// recovery is how long a store may take to answer again after a fault.
	recovery = 30 * time.Second
	// most is how many problems are told.
	most = 10
)

// env is what one check works with, and what it has found.
type env struct {
	t     *testing.T
	store session.Store
	options
	mu   sync.Mutex
	list []string
}

func (e *env) add(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.list) < most {
		e.list = append(e.list, fmt.Sprintf(format, args...))
	}
}

func (e *env) failed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.list) > 0
}

// position is a place in the history of system 1 unless more is said.
func position(at uint64) lsn.Position { return positionOf(1, 1, 1, at) }

func positionOf(system uint64, timeline uint32, incarnation int64, at uint64) lsn.Position {
	return lsn.Position{History: lsn.History{System: system, Timeline: timeline, Incarnation: incarnation}, LSN: lsn.LSN(at)}
}

// token counts for an hour.
func token(positions ...lsn.Position) session.Token {
	now := time.Now()
	return session.Token{Issued: now, Expires: now.Add(time.Hour), Positions: positions}
}

// within calls f, and says so when it does not come back in time.
func (e *env) within(what string, f func()) bool {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	limit := time.NewTimer(inTime)
	defer limit.Stop()
	select {
	case <-done:
		return true
	case <-limit.C:
		e.add("%s did not return within %v", what, inTime)
		return false
	}
}

func (e *env) load(s session.Store, user string) (t session.Token) {
	var err error
	if e.within("Load", func() { t, err = s.Load(e.t.Context(), user) }) && err != nil {
		e.add("Load(%s): %v", short(user), err)
	}
	return t
}

func (e *env) advance(s session.Store, user string, t session.Token) {
	var err error
	if e.within("Advance", func() { err = s.Advance(e.t.Context(), user, t) }) && err != nil {
		e.add("Advance(%s): %v", short(user), err)
	}
}

// expect compares what is loaded with the merge of all that was advanced.
func (e *env) expect(s session.Store, user string, advanced ...session.Token) {
	got := e.load(s, user)
	if e.failed() {
		return
	}
	if problem := differs(got, merged(advanced)); problem != "" {
		e.add("Load(%s) after %d Advance: %s", short(user), len(advanced), problem)
	}
}

func merged(list []session.Token) (m session.Token) {
	for _, t := range list {
		m = m.Merge(t)
	}
	return m
}

// differs tells how got is not what was wanted; empty: it is.
func differs(got, want session.Token) string {
	now := time.Now()
	have := got.Merge(session.Token{}).Positions
	if !want.Unsure.IsZero() && !slices.ContainsFunc(have, func(p lsn.Position) bool { return !contains(want.Positions, p) }) {
		have = want.Positions // a doubt covers positions that are left out
	}
	switch {
	case !slices.Equal(have, want.Positions):
		return fmt.Sprintf("positions %v, want %v", got.Positions, want.Positions)
	case want.Unsure.IsZero() && !got.Unsure.IsZero():
		return fmt.Sprintf("it is unsure until %v, and nobody has said so", got.Unsure)
	case !want.Unsure.IsZero() && got.Unsure.IsZero():
		return "it is not unsure, and it was told so"
	case got.Unsure.Before(want.Unsure):
		return fmt.Sprintf("it is unsure until %v, want %v", got.Unsure, want.Unsure)
	case got.Unsure.After(want.Unsure.Add(slack)) && got.Unsure.After(now.Add(slack)):
		return fmt.Sprintf("it is unsure until %v, want %v", got.Unsure, want.Unsure)
	case got.Expires.Before(want.Expires):
		return fmt.Sprintf("it expires at %v, want %v", got.Expires, want.Expires)
	}
	return ""
}

// eventually asks until ok, at most until the limit.
func (e *env) eventually(what string, limit time.Duration, ok func(ctx context.Context) bool) {
	ctx, cancel := context.WithTimeout(e.t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			e.add("%s: not within %v", what, limit)
			return
		}
	}
}

func short(user string) string {
	if len(user) > 40 {
		return fmt.Sprintf("%q... of %d bytes", user[:40], len(user))
	}
	return fmt.Sprintf("%q", user)
}
