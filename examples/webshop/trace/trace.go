// Package trace keeps what a request has read, and which server answered. Pages show
// it to a person, and the header Server-Timing to a program and to the developer
// tools of a browser. A shop in earnest would have its tracing here.
package trace

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// Read is one query of a request.
type Read struct {
	Server string // its name, or "primary"
	Reason string // why there; empty where the plugin gives no reasons
}

// InTransaction is the reason of what ran inside a transaction of the application,
// where nothing is to be chosen.
const InTransaction = "in_transaction"

// Reads are the queries of one request.
type Reads struct {
	mu   sync.Mutex
	made []Read
}

type key struct{}

// With returns a context whose queries are taken down.
func With(ctx context.Context) (context.Context, *Reads) {
	r := new(Reads)
	return context.WithValue(ctx, key{}, r), r
}

// From returns the queries of ctx; nil when nobody takes them down.
func From(ctx context.Context) *Reads {
	r, _ := ctx.Value(key{}).(*Reads)
	return r
}

// Add takes a query down.
func (r *Reads) Add(read Read) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = append(r.made, read)
}

// All returns the queries so far.
func (r *Reads) All() []Read {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.made[:len(r.made):len(r.made)]
}

// Header is the value of Server-Timing for the queries so far.
func (r *Reads) Header() string {
	var b strings.Builder
	for _, read := range r.All() {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s;desc=%q", read.Server, read.Reason)
	}
	return b.String()
}

// Parse reads such a value. What is not of this package is left out.
func Parse(header string) (reads []Read) {
	for entry := range strings.SplitSeq(header, ",") {
		name, parameters, _ := strings.Cut(strings.TrimSpace(entry), ";")
		if name == "" {
			continue
		}
		read := Read{Server: name}
		for parameter := range strings.SplitSeq(parameters, ";") {
			if reason, ok := strings.CutPrefix(parameter, "desc="); ok {
				read.Reason = strings.Trim(reason, `"`)
			}
		}
		reads = append(reads, read)
	}
	return reads
}
