//go:build !race

package session_test

const forgotten = 0.0
