package httpsession

import (
	"cmp"
	"context"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/readsplit/readsplit/internal/unmarked"
)

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
	kind, remedy := lostContext, remedyLostContext
	if ofRequest {
		kind, remedy = outside, remedyOutside
	}
	var at stack // stays on the stack: what is new is copied
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
		if s.places.full.Load() || s.stacks.full.Load() {
			continue
		}
		if at.n == 0 {
			at.n = runtime.Callers(2, at.pcs[:])
			at.hash = uint64(len(kind))
			for _, pc := range at.pcs[:at.n] {
				at.hash = (at.hash ^ uint64(pc)) * 0x9E3779B97F4A7C15
			}
		}
		if s.stacks.isNew(at.hash) {
			s.mistake(kind, placeOf(slices.Clone(at.pcs[:at.n])), remedy)
		}
	}
}

// stack is how a statement was come to.
type stack struct {
	pcs  [64]uintptr
	n    int
	hash uint64
}

// mostStacks bounds how many ways to statements are remembered: an application that
// never passes its contexts on would pay for each statement what finding a file and a
// line costs.
const mostStacks = 4096

type stacks struct {
	mu   sync.RWMutex
	seen map[uint64]struct{}
	full atomic.Bool
}

func (k *stacks) isNew(hash uint64) bool {
	k.mu.RLock()
	_, seen := k.seen[hash]
	k.mu.RUnlock()
	if seen {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seen == nil {
		k.seen = make(map[uint64]struct{})
	}
	k.seen[hash] = struct{}{}
	k.full.Store(len(k.seen) >= mostStacks)
	return true
}

// placeOf returns the file and line of the application that a statement comes from: what
// has called GORM, or the plugin where that is not GORM's statement. Pools of other
// plugins stand between GORM and the plugin.
func placeOf(pcs []uintptr) string {
	frames := runtime.CallersFrames(pcs)
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
