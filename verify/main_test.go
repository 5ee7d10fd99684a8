package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/verify/history"
)

func TestArguments(t *testing.T) {
	o, err := parse([]string{"-seed", "7", "-duration", "30m", "-faults", "pause,kill", "-pause", "1ms"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, []string{"pause", "kill"}, o.faults)
	assert.Equal(t, "verify -seed 7 -duration 30m0s -episode 15s -faults pause,kill -pause 1ms -mass 2000000", o.again())
	back, err := parse(strings.Fields(o.again())[1:], io.Discard)
	require.NoError(t, err)
	assert.Equal(t, o, back, "what reproduces a run is the same run")

	for args, text := range map[string]string{
		"-faults pause,rain": "-faults rain: there is no such fault",
		"-plugin other":      `-plugin "other"`,
		"-duration 1s":       "less than 2s shows nothing",
		"-clients 17":        "-clients 17",
		"-only tea":          "-only tea: there is no such episode",
		"now":                `verify got "now"`,
	} {
		_, err := parse(strings.Fields(args), io.Discard)
		require.ErrorContains(t, err, text, args)
	}
}

// kept writes a history to a file.
func kept(t *testing.T, events ...history.Event) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "h.jsonl")
	f, err := os.Create(name)
	require.NoError(t, err)
	require.NoError(t, history.Save(f, &history.History{Header: history.Header{Seed: 7, Primary: "primary", MaxLag: time.Second}, Events: events}))
	require.NoError(t, f.Close())
	return name
}

func TestJudgeAgain(t *testing.T) {
	t.Chdir(t.TempDir()) // the page goes to the working folder
	write := history.Event{Kind: history.KindWrite, Session: "s", Invoke: 1, Return: 2, Result: history.OK, Writes: []history.Write{{Key: "r1", Value: "a"}}}
	read := history.Event{Kind: history.KindRead, Session: "s", Invoke: 3, Return: 4, Result: history.OK, Server: "replica1", Reads: []history.Read{{Key: "r1", Version: 1, Value: "a"}}}
	fault := history.Event{Kind: history.KindFault, Fault: "pause", Invoke: 1, Return: 4}
	final := history.Event{Kind: history.KindFinal, Key: "r1", Values: []string{"a"}}
	stale := read
	stale.Reads = []history.Read{{Key: "r1"}}

	judge := func(events ...history.Event) (status int, last string) {
		var out bytes.Buffer
		status = rejudge([]string{kept(t, events...)}, &out)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		return status, lines[len(lines)-1]
	}
	status, last := judge(write, read, fault, final)
	assert.Equal(t, exitFine, status)
	assert.Equal(t, "verify: operations=2 faults=1 violations=0 unknown=0 seed=7", last)
	status, last = judge(write, stale, fault, final)
	assert.Equal(t, exitBroken, status)
	assert.Equal(t, "verify: operations=2 faults=1 violations=1 unknown=0 seed=7", last)
	page, err := os.ReadFile("verify-violations.html")
	require.NoError(t, err)
	assert.Contains(t, string(page), "read-your-writes")
	status, _ = judge(write, read, final)
	assert.Equal(t, exitNothing, status, "no fault")
	status, _ = judge(write, fault, final)
	assert.Equal(t, exitNothing, status, "no own read on a replica")
	assert.Equal(t, exitTroubled, rejudge([]string{"missing.jsonl"}, io.Discard))
	assert.Equal(t, exitTroubled, rejudge(nil, io.Discard))
}
