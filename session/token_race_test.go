//go:build race

package session_test

// Under the race detector a sync.Pool forgets a quarter of what it is given.
const forgotten = 3.0

// million is as many users as a store is tried with.
const million = 100_000
