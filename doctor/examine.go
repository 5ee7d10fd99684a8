package doctor

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Examine asks all servers of a topology at the same time, watches them, and
// reports what is wrong. It fails when the topology is not one, or ctx ends; a
// server that cannot be reached is a finding.
func Examine(ctx context.Context, t Topology) (Report, error) {
	t, err := t.complete()
	if err != nil {
		return Report{}, err
	}
	r := Report{At: time.Now()}
	var app struct {
		findings []Finding
		answered bool
	}
	var wg sync.WaitGroup
	if t.Status != "" {
		wg.Go(func() { app.findings, app.answered = examineApplication(ctx, t) })
	}
	if t.Primary.DSN != "" {
		k, mixed := kindOf(t)
		r.Findings = append(r.Findings, mixed...)
		examined, findings := k.examine(ctx, t)
		r.Servers = examined
		r.Findings = append(r.Findings, findings...)
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return Report{}, fmt.Errorf("readsplit: examination: %w", context.Cause(ctx))
	}
	r.Application = app.answered
	r.Findings = sorted(append(r.Findings, app.findings...))
	r.Took = time.Since(r.At)
	return r, nil
}

// engine is one kind of database.
type engine interface {
	name() string
	// speaks reports whether a DSN is one of this database.
	speaks(dsn string) bool
	// examine looks at the servers of a topology whose primary is of this database.
	examine(ctx context.Context, t Topology) ([]Examined, []Finding)
}

// engines in the order in which they are asked whose a DSN is; the last takes all.
var engines = []engine{sqlServer{}, postgres{}}

func engineOf(dsn string) engine {
	for _, e := range engines {
		if e.speaks(dsn) {
			return e
		}
	}
	return engines[len(engines)-1]
}

// kindOf says which database the topology is of, and which servers are of another.
func kindOf(t Topology) (engine, []Finding) {
	e := engineOf(t.Primary.DSN)
	var findings []Finding
	for _, s := range t.Replicas {
		if other := engineOf(s.DSN); other != e {
			findings = append(findings, found(KindsDiffer, Problem, s.Name, "Correct the DSN.",
				"The DSN is one of %s, and the primary's is one of %s.", other.name(), e.name()))
		}
	}
	return e, findings
}

// redacted takes secrets out of a text that came from a driver or a server.
func redacted(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	return text
}
