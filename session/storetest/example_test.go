package storetest_test

import (
	"testing"

	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/session/storetest"
)

// The test of a store over a database: several processes share it, what it holds can be
// lost, and it can hang.
func ExampleRun() {
	var t *testing.T // of the test function
	open := func(*testing.T) session.Store { return session.NewMemory(session.MemoryOptions{Lifetime: -1}) }
	_ = func() {
		storetest.Run(t, open,
			storetest.Peer(func(_ *testing.T, s session.Store) session.Store { return s }), // another process over the same
			storetest.Lose(func(_ *testing.T, _ session.Store) { /* empty its table */ }),
			storetest.Stall(func(*testing.T, session.Store) func() { /* lock its table */ return func() {} }),
		)
	}
}
