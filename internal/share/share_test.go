package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
)

var servers *lab

func TestMain(m *testing.M) {
	l, err := newLab(context.Background(), os.Getenv("READSPLIT_PG"), 1000)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	servers = l
	status := m.Run()
	if err := l.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// patient makes lag no matter: what is counted is not how quick a machine is.
func patient(c *readsplit.Config) {
	c.SampleTimeout, c.MaxLag, c.MaxSampleAge, c.StickyWindow = 10*time.Second, 30*time.Second, 30*time.Second, time.Minute
}

// measured runs c over replicas whose stream is delayed.
func measured(t *testing.T, behind time.Duration, c cell) *result {
	t.Helper()
	end, err := servers.delay(t.Context(), behind)
	require.NoError(t, err)
	r, err := servers.measure(t.Context(), c)
	require.NoError(t, err)
	require.NoError(t, end())
	require.Zero(t, r.missing, "reads that did not show what was acknowledged before")
	require.NotEmpty(t, r.took)
	t.Logf("%.0f writes/s, %d reads, %.1f %% on replicas; waited %d, in vain %d; %.0f captures/s; %.2f of the time of plain GORM; %s",
		r.written, len(r.took), 100*r.share(), r.waited, r.vain, r.captures, r.ratio(), r.why())
	return r
}

// On two processors with others on them a replica that is 1 ms behind is some ms behind:
// these reads wait longer than the default, and what is counted is who served them. That
// the default is enough where nothing else runs is TestProcessReadsStayOnReplicas of the
// root package, in virtual time.
func TestProcessReadsStayOnReplicas(t *testing.T) {
	r := measured(t, time.Millisecond, cell{writes: 500, reads: 250, length: 1500 * time.Millisecond, least: 200, warm: 500 * time.Millisecond, edit: func(c *readsplit.Config) {
		patient(c)
		c.MaxWait = time.Second
	}})
	assert.Greater(t, r.share(), 0.9)
	assert.False(t, r.advised)
	assert.Zero(t, r.said)
}

// Replicas that are 200 ms behind have nothing of what the process keeps writing. Its
// reads do what plain GORM does, and the log says once what would help.
func TestReadsThatNoReplicaCanServeCostNoMoreThanPlain(t *testing.T) {
	r := measured(t, 200*time.Millisecond, cell{writes: 500, reads: 400, length: 2 * time.Second, least: 500, warm: 700 * time.Millisecond, edit: patient})
	reads := len(r.took)
	assert.Less(t, r.replica, reads/20)
	// A machine that stands still lets a replica come close to what it shall have.
	assert.Less(t, r.waited, reads/20, "reads that waited")
	assert.Less(t, r.captures, 60.0, "questions to the primary a second, whoever reads and writes")
	assert.True(t, r.advised)
	assert.Equal(t, 1, r.said)
}

// With a session for each user only who wrote a moment ago is held to it.
func TestSessionsPay(t *testing.T) {
	r := measured(t, 200*time.Millisecond, cell{writes: 200, sessions: true, reads: 250, length: 1500 * time.Millisecond, least: 200, warm: 500 * time.Millisecond, edit: patient})
	assert.Greater(t, r.share(), 0.5)
	assert.False(t, r.advised)
	assert.Zero(t, r.said)
}

func TestShortFormPrintsItsTables(t *testing.T) {
	o := defaults()
	o.shorten()
	o.delays, o.rates = o.delays[:1], o.rates[:1]
	blocks, err := servers.blocks(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, blocks, 1)
	require.Len(t, blocks[0].cells, 2)
	assert.Contains(t, blocks[0].table(), "| the process |")
	assert.Contains(t, blocks[0].table(), "| the user |")
	assert.NotContains(t, plot(o, blocks).SVG(), "NaN")
}
