//go:build race

package session_test

// Under the race detector a sync.Pool forgets a quarter of what it is given.
const forgotten = 3.0
