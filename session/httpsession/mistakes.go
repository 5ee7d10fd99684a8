package httpsession

import (
	"cmp"
	"context"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/readsplit/readsplit/internal/unmarked"
)

// mostPlaces bounds how many places of mistakes are remembered.
const mostPlaces = 256

// places are those that a mistake was logged for.
type places struct {
	mu   sync.Mutex
	seen map[string]bool
	full atomic.Bool
}

// first reports whether a place is new. When there is no room for more, none is.
func (p *places) first(kind, place string) bool {
	if p.full.Load() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := kind + " " + place
	if p.seen[key] || len(p.seen) >= mostPlaces {
		return false
	}
	if p.seen == nil {
		p.seen = make(map[string]bool)
	}
	p.seen[key] = true
	p.full.Store(len(p.seen) >= mostPlaces)
	return true
}

// mistake logs one once for its place.
func (s *Sessions) mistake(kind, place, remedy string) {
	if s.places.first(kind, place) {
		s.opts.Logger.Warn("readsplit: httpsession: "+kind, "where", place, "remedy", remedy)
	}
}

const (
	openAtReturn  = "a transaction of the request was still open when the response was complete: the client is not told what it commits"
	sentTooEarly  = "the response had to go out while a transaction of the request was open: its client reads from the primary for a while"
	wroteLate     = "a request wrote after its response had gone out: the client is not told of it"
	outside       = "a statement ran for a request that has no session"
	lostContext   = "a statement ran without a session and not in the context of a request: if it serves one, its session and marks are lost"
	wroteNameless = "a request wrote and the store was not told whose it is: nobody is told of it"
	storeFailed   = "the store fails: users read from the primary, or see what they wrote on this process alone"
)

const (
	remedyOrder       = "put httpsession.Handler outside of the middleware that begins and commits transactions"
	remedyEarly       = "commit before the response is flushed or taken over, or raise Options.Hold"
	remedyLate        = "write before the response is begun, or have the client ask again"
	remedyOutside     = "put httpsession.Handler around this route and before whatever reads the database for it"
	remedyNameless    = "have Options.User or httpsession.Identify say who sends it, or let a cookie carry as well"
	remedyLostContext = "use db.WithContext(ctx) with the context of the request, all the way down; give a job a session of its own"
)

// storeFails logs that the store fails, and not again until it has worked.
func (q *request) storeFails(what string, err error) {
	if q.of.storeDown.CompareAndSwap(false, true) {
		q.of.opts.Logger.Warn("readsplit: httpsession: "+storeFailed, "call", what, "error", err)
	}
}

func (s *Sessions) storeWorks() {
	if s.storeDown.Load() && s.storeDown.CompareAndSwap(true, false) {
		s.opts.Logger.Info("readsplit: httpsession: the store works again")
	}
}

// inUse are the Sessions of the process whose Handler was called.
var inUse struct {
	mu  sync.Mutex
	all atomic.Pointer[[]weak.Pointer[Sessions]]
}

// watch has s told of statements without a session. It is not kept alive for that.
func watch(s *Sessions) {
	inUse.mu.Lock()
	defer inUse.mu.Unlock()
	var all []weak.Pointer[Sessions]
	if have := inUse.all.Load(); have != nil {
		for _, w := range *have {
			if other := w.Value(); other != nil && other != s {
				all = append(all, w)
			}
		}
	}
	all = append(all, weak.Make(s))
	inUse.all.Store(&all)
	unmarked.Watch(sawUnmarked)
}

// sawUnmarked is told of a statement in a context without a session.
func sawUnmarked(ctx context.Context) {
	ofRequest := ctx != nil && ctx.Value(http.ServerContextKey) != nil
	place := ""
	for _, w := range *inUse.all.Load() {
		s := w.Value()
		switch {
		case s == nil:
			continue
		case ofRequest:
			s.counters.outside.Add(1)
		case s.handling.Load() > 0:
			s.counters.lostContext.Add(1)
		default:
			continue
		}
		if s.places.full.Load() {
			continue
		}
		if place == "" {
			place = caller()
		}
		if ofRequest {
			s.mistake(outside, place, remedyOutside)
		} else {
			s.mistake(lostContext, place, remedyLostContext)
		}
	}
}

// caller returns the file and line of the application that a statement comes from: what
// has called GORM, or the plugin where that is not GORM's statement. Pools of other
// plugins stand between GORM and the plugin.
func caller() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	first, viaGORM := "", false
	for {
		frame, more := frames.Next()
		switch {
		case strings.HasPrefix(frame.Function, "gorm.io/gorm"):
			viaGORM = true
		case frame.Function == "" || between(frame.Function) || strings.HasSuffix(frame.File, ".gen.go"):
		default:
			place := frame.File + ":" + strconv.Itoa(frame.Line)
			if viaGORM {
				return place
			}
			if first == "" {
				first = place
			}
		}
		if !more {
			return cmp.Or(first, "unknown")
		}
	}
}

// between reports whether a function stands between the application and the server.
func between(function string) bool {
	for _, prefix := range []string{
		"gorm.io/", "database/sql.", "runtime.", "reflect.",
		"github.com/readsplit/readsplit.", "github.com/readsplit/readsplit/dbresolver.", "github.com/readsplit/readsplit/internal/unmarked.",
		"github.com/readsplit/readsplit/session/httpsession.sawUnmarked",
	} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}
