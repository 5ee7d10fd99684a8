package httpsession

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
)

// routes choose a mark by the pattern that a request matches. What a pattern is,
// which of two is the more specific and which contradict each other is for
// http.ServeMux to say.
type routes struct {
	mux   *http.ServeMux // nil: there are none
	marks map[string]Mark
}

func newRoutes(byPattern map[string]Mark, p *problems) routes {
	if len(byPattern) == 0 {
		return routes{}
	}
	ro := routes{mux: http.NewServeMux(), marks: byPattern}
	for _, pattern := range slices.Sorted(maps.Keys(byPattern)) {
		if byPattern[pattern] == nil {
			p.add("Routes[%q] is nil: name a mark, such as httpsession.UseReplica, or leave the pattern out", pattern)
		}
		if why := ro.add(pattern); why != "" {
			p.add("Routes[%q] is no pattern of http.ServeMux beside the others: %s; mend it or leave it out", pattern, why)
		}
	}
	return ro
}

// registeredAt is what http.ServeMux says of the caller: that is this package.
var registeredAt = regexp.MustCompile(` \(registered at [^)]*\)`)

// add returns why the pattern was not taken: http.ServeMux panics.
func (ro *routes) add(pattern string) (why string) {
	defer func() {
		if v := recover(); v != nil {
			why = registeredAt.ReplaceAllString(fmt.Sprint(v), "")
		}
	}()
	ro.mux.Handle(pattern, http.NotFoundHandler())
	return ""
}

// around returns next as each pattern marks it. A mark is called here, and not for
// every request.
func (ro *routes) around(next http.Handler) routed {
	r := routed{mux: ro.mux, next: next, by: make(map[string]http.Handler, len(ro.marks))}
	for pattern, mark := range ro.marks {
		r.by[pattern] = mark(next)
	}
	return r
}

// routed is a handler as the routes mark it.
type routed struct {
	mux  *http.ServeMux
	next http.Handler
	by   map[string]http.Handler
}

func (r *routed) of(req *http.Request) http.Handler {
	if r.mux == nil {
		return r.next
	}
	// The pattern counts, not the handler: for //report that is one that redirects.
	if _, pattern := r.mux.Handler(req); pattern != "" {
		if h := r.by[pattern]; h != nil {
			return h
		}
	}
	return r.next
}
