//go:build race

package repo

// raced says whether this test was compiled with the race detector.
const raced = true
