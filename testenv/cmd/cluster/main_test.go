package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// page collects what the program prints, and lets a test wait for it.
type page struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{}
	ended   chan error // what run returned
}

// start runs the program with these arguments.
func start(ctx context.Context, in io.Reader, args ...string) *page {
	out := &page{written: make(chan struct{}, 1), ended: make(chan error, 1)}
	go func() { out.ended <- run(ctx, args, in, out, io.Discard) }()
	return out
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.written <- struct{}{}:
	default:
	}
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func (p *page) await(t *testing.T, pattern string) []string {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(p.String()); m != nil {
			return m
		}
		select {
		case <-p.written:
		case err := <-p.ended:
			t.Fatalf("it ended (%v) before it printed %q", err, pattern)
		case <-late:
			t.Fatalf("%q was not printed; printed was:\n%s", pattern, p)
		}
	}
}

// A person starts it, connects with what is printed, breaks things, and interrupts it.
func TestAPersonUsesIt(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	in, keys := io.Pipe()
	defer keys.Close()
	out := start(ctx, in, "-replicas", "1", "-set", "work_mem=6MB")
	typed := func(line string) {
		_, err := io.WriteString(keys, line+"\n")
		require.NoError(t, err)
	}

	dsn := out.await(t, `(?m)^replica1 +dsn +(.*)$`)[1]
	url := out.await(t, `(?m)^primary .*\n +psql +psql '(.*)'$`)[1]
	log := out.await(t, `(?m)^primary .*\n.*\n +log +(.*)$`)[1]
	require.FileExists(t, log)
	for at, name := range map[string]string{dsn: "replica1", url: "primary"} {
		conn, err := pgx.Connect(t.Context(), at)
		require.NoError(t, err)
		var got, memory string
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_setting('cluster_name'), current_setting('work_mem')").Scan(&got, &memory))
		assert.Equal(t, name, got)
		assert.Equal(t, "6MB", memory)
		require.NoError(t, conn.Close(t.Context()))
	}

	typed("")
	typed("delay replica1 90ms")
	out.await(t, `(?m)^ok, `)
	typed("pause replica1")
	typed("stop primary")
	typed("status")
	out.await(t, `(?m)^primary +no answer +- +stopped$`)
	out.await(t, `(?m)^replica1 +replica +\S+ +replay delayed by 90ms, replay paused$`)
	typed("undo")
	typed("undo all")
	typed("undo")
	out.await(t, "there is nothing to undo")
	typed("follow replica1 replica1")
	out.await(t, "it would follow itself")
	typed("lag replica1 soon")
	out.await(t, `invalid duration "soon"`)
	typed("cut nobody")
	out.await(t, `no server is called "nobody"; there are primary, replica1`)
	typed("explode primary")
	out.await(t, `no such order: "explode"; type help`)
	typed("freeze")
	out.await(t, `freeze takes 1 word\(s\) after it, and got 0`)
	typed("undo everything")
	out.await(t, `not "everything"`)
	typed("help")
	out.await(t, "(?m)^quit ")

	interrupt()
	require.NoError(t, <-out.ended)
	assert.NoFileExists(t, log)
}

// In the background there is no input, and that is no reason to end; the word quit is.
func TestItEndsWhenToldAndNotBefore(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	out := start(ctx, strings.NewReader("status\n"), "-replicas", "0", "-v")
	out.await(t, `(?m)^primary +primary +[0-9A-F]+/[0-9A-F]+`)
	select {
	case err := <-out.ended:
		t.Fatalf("it ended with its input: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	interrupt()
	require.NoError(t, <-out.ended)

	require.NoError(t, run(t.Context(), []string{"-replicas", "0"}, strings.NewReader("quit\n"), io.Discard, io.Discard))
}

func TestArguments(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-find"}, nil, &out, io.Discard))
	version, dir, ok := strings.Cut(strings.TrimSpace(out.String()), " ")
	require.True(t, ok)
	assert.Regexp(t, `^[0-9]+(\.[0-9]+|beta[0-9]+)$`, version)
	_, err := os.Stat(dir + "/initdb")
	require.NoError(t, err)

	require.ErrorIs(t, run(t.Context(), []string{"-h"}, nil, io.Discard, io.Discard), flag.ErrHelp)
	require.ErrorContains(t, run(t.Context(), []string{"primary"}, nil, io.Discard, io.Discard), `got "primary"`)
	require.ErrorContains(t, run(t.Context(), []string{"-set", "x"}, nil, io.Discard, io.Discard), "name=value")
	require.ErrorContains(t, run(t.Context(), []string{"-find", "-pg", "9"}, nil, io.Discard, io.Discard), "15 or newer")
	require.ErrorContains(t, run(t.Context(), []string{"-find", "-bin", "/none"}, nil, io.Discard, io.Discard), "/none (Config.BinDir)")
}
