package storetest

import (
	"testing"

	"github.com/readsplit/readsplit/session"
)

// Option tells [Run] more about a store.
type Option func(*options)

type options struct {
	peer  func(t *testing.T, s session.Store) session.Store
	lose  func(t *testing.T, s session.Store)
	stall func(t *testing.T, s session.Store) (resume func())
}

// Peer says how another process opens the store that s is over: what one has
// acknowledged the other must say.
func Peer(open func(t *testing.T, s session.Store) session.Store) Option {
	return func(o *options) { o.peer = open }
}

// Lose says how what s holds is lost. Afterwards everybody must be unsure, for as long
// as what was lost would have counted; Load may fail for some seconds before.
func Lose(lose func(t *testing.T, s session.Store)) Option {
	return func(o *options) { o.lose = lose }
}

// Stall says how whatever s is over stops to answer, until resume is called.
func Stall(stall func(t *testing.T, s session.Store) (resume func())) Option {
	return func(o *options) { o.stall = stall }
}

// Run tests the store that open returns: empty, sure of it, and a new one for each
// test. It takes some three seconds, because tokens expire in it.
func Run(t *testing.T, open func(t *testing.T) session.Store, opts ...Option) {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	for _, c := range checks {
		if !c.fits(&o) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			for _, problem := range c.problems(t, open(t), o) {
				t.Error(problem)
			}
		})
	}
}

// check is one thing that a store must do.
type check struct {
	name  string
	run   func(e *env)
	needs func(o *options) bool
}

var checks = []check{
	{name: "a user who has written nothing", run: unknownUser},
	{name: "what was advanced is loaded", run: loads},
	{name: "the further position counts", run: further},
	{name: "the later history counts", run: histories},
	{name: "unsure", run: unsure},
	{name: "too many databases", run: tooMany},
	{name: "tokens are copied", run: copied},
	{name: "names of users", run: names},
	{name: "expiry", run: expiry},
	{name: "concurrent writers", run: concurrent},
	{name: "concurrent writers of several databases", run: concurrentSystems},
	{name: "a context that has ended", run: endedContext},
	{name: "another process", run: peer, needs: func(o *options) bool { return o.peer != nil }},
	{name: "what is lost", run: lost, needs: func(o *options) bool { return o.lose != nil }},
	{name: "a store that does not answer", run: stalled, needs: func(o *options) bool { return o.stall != nil }},
}

func (c *check) fits(o *options) bool { return c.needs == nil || c.needs(o) }

func (c *check) problems(t *testing.T, s session.Store, o options) []string {
	t.Helper()
	e := &env{t: t, store: s, options: o}
	c.run(e)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.list
}
