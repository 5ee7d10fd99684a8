package httpsession

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
)

// Sessions gives every request a session and carries what it has written to the next
// one. It may be used by several servers at once, and needs no closing.
type Sessions struct {
	opts     Options
	routes   routes
	counters counters
	places   places
	stacks   stacks
	debts    debts
	handling atomic.Int64 // requests under way
	// storeDown says that it was logged.
	storeDown atomic.Bool
	// begin gives a request its session.
	begin func(ctx context.Context) (context.Context, ledger)
}

// ledger is what a request needs of its session.
type ledger interface {
	Join(token string)
	JoinToken(t session.Token)
	Doubt()
	DoubtAlone()
	CoverUnscoped()
	Changed() bool
	Moves() (writes, shown uint64)
	InTransaction() bool
	UnscopedOpen() bool
	Export(ctx context.Context) (session.Token, error)
	ExportNow() session.Token
	Text(t session.Token) string
	TokenNow() string
}

func newSession(ctx context.Context) (context.Context, ledger) {
	s := readsplit.NewSession()
	return readsplit.WithSession(ctx, s), s
}

// New returns sessions that travel as o says. The error lists every problem of o.
func New(o Options) (*Sessions, error) {
	o = o.withDefaults()
	var p problems
	o.validate(&p)
	s := &Sessions{opts: o, begin: newSession}
	s.routes = newRoutes(o.Routes, &p)
	if err := p.err(); err != nil {
		return nil, err
	}
	return s, nil
}

// Handler is Sessions.Handler with the default options: one line for an application.
func Handler(next http.Handler) http.Handler { return byDefault().Handler(next) }

var byDefault = sync.OnceValue(func() *Sessions {
	s, err := New(Options{})
	if err != nil {
		panic(err) // never: the zero Options are right
	}
	return s
})

// insideKey finds the request's own traces in its context.
type insideKey struct{}

// Handler returns next with a session for every request. It belongs around everything
// that touches the database, authentication and transactions of a request included:
// outside of them in the chain. Where it is applied twice the outer one counts.
func (s *Sessions) Handler(next http.Handler) http.Handler {
	there(next)
	watch(s)
	routed := s.routes.around(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := routed.of(r)
		if r.Context().Value(insideKey{}) != nil {
			h.ServeHTTP(w, r)
			return
		}
		s.serve(w, r, h)
	})
}

func (s *Sessions) serve(w http.ResponseWriter, r *http.Request, h http.Handler) {
	s.handling.Add(1)
	defer s.handling.Add(-1)
	s.counters.requests.Add(1)
	ctx, session := s.begin(r.Context())
	rq := &request{of: s, ctx: r.Context(), session: session, unsafe: !safe(r.Method)}
	rq.arrive(r)
	if rq.unsafe {
		session.CoverUnscoped()
	}
	rq.seen = r.WithContext(context.WithValue(ctx, insideKey{}, rq))
	res := &response{under: w, rq: rq}
	returned := false
	// Deferred, so that what was written before a panic is told by whoever answers for
	// it. The panic goes on.
	defer func() { res.end(!returned) }()
	h.ServeHTTP(res.offered(), rq.seen)
	returned = true
}

// safe reports whether requests of a method only read, by HTTP's rules.
func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}
