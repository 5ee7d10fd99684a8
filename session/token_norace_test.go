//go:build !race

package session_test

const forgotten = 0.0

// million is as many users as a store is tried with.
const million = 1_000_000
