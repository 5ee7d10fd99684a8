//go:build race

package main

// The race detector makes sync.Pool forget by chance, and keeps notes of its own.
const raceEnabled = true
