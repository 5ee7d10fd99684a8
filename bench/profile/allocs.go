package profile

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/readsplit/readsplit/bench/side"
)

// site is what one function allocates for one operation.
type site struct {
	name          string
	bytes, allocs float64
}

// allocations runs op and tells each function that allocated, by its name.
func allocations(op func(n int), ops int) map[string]site {
	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 1 // what is recorded are then all allocations
	defer func() { runtime.MemProfileRate = rate }()
	op(ops / 10) // pools and caches fill
	before := recorded()
	op(ops)
	after := recorded()
	for name, a := range after {
		b := before[name]
		a.bytes, a.allocs = (a.bytes-b.bytes)/float64(ops), (a.allocs-b.allocs)/float64(ops)
		after[name] = a
	}
	return after
}

// recorded sums up the allocations so far.
func recorded() map[string]site {
	runtime.GC() // two of them publish what was recorded until now
	runtime.GC()
	var records []runtime.MemProfileRecord
	for n, ok := runtime.MemProfile(nil, true); !ok; {
		records = make([]runtime.MemProfileRecord, n+50)
		if n, ok = runtime.MemProfile(records, true); ok {
			records = records[:n]
		}
	}
	all := map[string]site{}
	for i := range records {
		name := who(records[i].Stack())
		s := all[name]
		s.name, s.bytes, s.allocs = name, s.bytes+float64(records[i].AllocBytes), s.allocs+float64(records[i].AllocObjects)
		all[name] = s
	}
	return all
}

// who is the innermost function of a stack that is not the runtime's.
func who(stack []uintptr) string {
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			return f.Function
		}
		if !more {
			return "runtime"
		}
	}
}

// matters is false for what the process does beside the operation: it samples servers.
func (s site) matters() bool {
	return max(s.allocs, -s.allocs) >= 0.2 && !strings.Contains(s.name, "readsplit/bench") && !strings.Contains(s.name, "readsplit/testenv")
}

// added is what form allocates more than plain, the most first.
func added(plain, form map[string]site) []site {
	var all []site
	for name := range maps.Keys(form) {
		d := site{name, form[name].bytes - plain[name].bytes, form[name].allocs - plain[name].allocs}
		if d.matters() {
			all = append(all, d)
		}
	}
	for name, s := range plain {
		if d := (site{name, -s.bytes, -s.allocs}); d.matters() && form[name].name == "" {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b site) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.name, b.name)) })
	return all
}

// Allocations tells where form allocates more than plain does, the most first.
func Allocations(plain, form side.Form, ops, top int) string {
	var b strings.Builder
	all := added(allocations(plain.Op, ops), allocations(form.Op, ops))
	for _, s := range all[:min(top, len(all))] {
		fmt.Fprintf(&b, "%8.0f B %6.2f allocations  %s\n", s.bytes, s.allocs, short(s.name))
	}
	return b.String()
}

func short(name string) string { return strings.TrimPrefix(name, "github.com/readsplit/") }
