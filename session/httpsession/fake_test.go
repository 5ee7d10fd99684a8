package httpsession

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// fake is a session whose token is the list of the writes that it covers, so that a
// test can tell which of them is missing.
type fake struct {
	mu      sync.Mutex
	covers  map[string]bool
	writes  uint64
	shown   uint64
	open    int
	moved   bool
	doubt   bool
	covered bool // CoverUnscoped was called
	others  bool // something was written without a session
	nobodys int  // transactions without a session that are open
	stuck   bool // the primary does not answer
	waited  int  // how often Export was asked
}

const unsure = "unsure"

func newFake() *fake { return &fake{covers: make(map[string]bool)} }

func (f *fake) Join(token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range strings.SplitSeq(token, ".") {
		if name == unsure {
			f.doubt, f.moved = true, true
			continue
		}
		f.covers[name] = true
	}
}

func (f *fake) JoinToken(t session.Token) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range t.Positions {
		f.covers[stored[p.LSN]] = true
	}
	if !t.Unsure.IsZero() {
		f.doubt, f.moved = true, true
	}
}

// stored gives each write a number in the tokens of a store, and a database of its own.
var stored = map[lsn.LSN]string{}

func (f *fake) Doubt() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doubt, f.moved = true, true
}

func (f *fake) DoubtAlone() { f.Doubt() }

func (f *fake) CoverUnscoped() { f.covered = true }

func (f *fake) Changed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.moved || f.covered && f.others
}

func (f *fake) Moves() (writes, shown uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes, f.shown
}

func (f *fake) InTransaction() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open > 0
}

func (f *fake) UnscopedOpen() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.covered && f.nobodys > 0
}

func (f *fake) Export(ctx context.Context) (session.Token, error) {
	f.mu.Lock()
	f.waited++
	stuck := f.stuck
	f.mu.Unlock()
	if f.InTransaction() {
		return session.Token{}, readsplit.ErrTokenInTransaction
	}
	if stuck {
		<-ctx.Done()
	}
	t := f.ExportNow()
	if ctx.Err() != nil {
		t.Unsure = time.Now().Add(5 * time.Second) // as a session does that gets no answer
	}
	return t, nil
}

func (f *fake) ExportNow() session.Token {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	t := session.Token{Issued: now, Expires: now.Add(time.Hour)}
	for i, name := range slices.Sorted(maps.Keys(f.covers)) {
		if i < session.MaxPositions {
			for at, have := range stored {
				if have == name {
					t.Positions = append(t.Positions, lsn.Position{History: lsn.History{System: uint64(at), Timeline: 1, Incarnation: 1}, LSN: at})
				}
			}
		}
	}
	if f.doubt || f.open > 0 || f.stuck {
		t.Unsure = now.Add(5 * time.Second)
	}
	if len(f.covers) == 0 && t.Unsure.IsZero() {
		return session.Token{}
	}
	return t
}

func (f *fake) Text(session.Token) string { return f.TokenNow() }

func (f *fake) TokenNow() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := slices.Sorted(maps.Keys(f.covers))
	if f.doubt || f.open > 0 || f.stuck {
		names = append(names, unsure)
	}
	return strings.Join(names, ".")
}

// wrote is a write whose commit was acknowledged.
func (f *fake) wrote(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.covers[name], f.moved = true, true
	f.writes++
}

// showed is a read with monotonic reads.
func (f *fake) showed(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.covers[name], f.moved = true, true
	f.shown++
}

func (f *fake) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open++
}

func (f *fake) commit(name string) {
	f.mu.Lock()
	f.open--
	f.mu.Unlock()
	if name != "" {
		f.wrote(name)
	}
}

// nobody begins or ends transactions without a session.
func (f *fake) nobody(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nobodys += n
}

type fakeKey struct{}

// of returns the session of a request.
func of(r *http.Request) *fake { return r.Context().Value(fakeKey{}).(*fake) }

// faked makes Sessions whose sessions are fakes. What it logs is in the buffer.
func faked(t testing.TB, o Options, prepare ...func(*fake)) (*Sessions, *lines) {
	t.Helper()
	log := &lines{}
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	s, err := New(o)
	require.NoError(t, err)
	s.begin = func(ctx context.Context) (context.Context, ledger) {
		f := newFake()
		for _, p := range prepare {
			p(f)
		}
		return context.WithValue(ctx, fakeKey{}, f), f
	}
	return s, log
}

// lines is what was logged.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// with returns the lines that contain text.
func (l *lines) with(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for line := range strings.Lines(l.b.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// tokens returns what the cookies that a response sets say, and how many it removes.
func tokens(h http.Header) (set []string, removed int) {
	for _, c := range (&http.Response{Header: h}).Cookies() {
		if !ours(defaultName, c.Name) {
			continue
		}
		if c.MaxAge < 0 {
			removed++
		} else {
			set = append(set, c.Value)
		}
	}
	return set, removed
}
