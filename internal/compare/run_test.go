package compare

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// program is a piece of an application that uses GORM.
type program struct {
	name string
	do   func(r *run)
}

// run is one run of a program on one side: what it works with, and everything
// that it saw.
type run struct {
	*side
	db  *gorm.DB
	ctx context.Context
	own []opened
	// broken is what went wrong with the comparison itself.
	broken error

	mu sync.Mutex
	// raced says that the moment at which an error is seen is chance, and with it
	// its text and what it is wrapped in: that there is one must be the same.
	raced bool
	// anyOrder says that several goroutines write lines.
	anyOrder bool
	lines    []string
}

// unequal is what is never the same in two runs: addresses in messages, and the
// names that GORM gives to savepoints.
var unequal = regexp.MustCompile(`(0x|SAVEPOINT sp)[0-9a-f]{6,}`)

func (r *run) add(format string, args ...any) {
	line := unequal.ReplaceAllString(strings.ReplaceAll(fmt.Sprintf(format, args...), r.database, "DATABASE"), "$1#")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

// saw records values that the program got from GORM.
func (r *run) saw(values ...any) {
	for _, v := range values {
		if err, ok := v.(error); ok {
			r.add("saw error %s", r.describe(err))
			continue
		}
		r.add("saw %s", dump(v))
	}
}

// did records the result of a statement, and the values that it has filled in.
func (r *run) did(tx *gorm.DB, values ...any) {
	s := tx.Statement
	r.add("did rows=%d error=%s", tx.RowsAffected, r.describe(tx.Error))
	r.add("  statement sql=%q vars=%s table=%q model=%T dest=%T selects=%q omits=%q distinct=%v unscoped=%v raise=%v skiphooks=%v clauses=%d",
		s.SQL.String(), dump(s.Vars), s.Table, s.Model, s.Dest, s.Selects, s.Omits, s.Distinct, s.Unscoped, s.RaiseErrorOnNotFound, s.SkipHooks, len(s.Clauses))
	if s.Schema != nil {
		r.add("  schema %s %s", s.Schema.Name, s.Schema.Table)
	}
	if s.ReflectValue.IsValid() {
		r.add("  reflect %s", s.ReflectValue.Type())
	}
	r.saw(values...)
}

// describe writes down an error as exactly as it can be compared.
func (r *run) describe(err error) string {
	if r.raced && err != nil {
		return "some"
	}
	return describe(err)
}

// guard runs f and records whether it panics, and with what.
func (r *run) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			if err, ok := p.(runtime.Error); ok {
				r.add("panic %T %v", p, err)
			} else if err, ok := p.(error); ok {
				r.add("panic %s", r.describe(err))
			} else {
				r.add("panic %T %v", p, p)
			}
		}
	}()
	f()
}

// open opens the run's database again, with a configuration of the program's
// own. before runs before the plugin is installed.
func (r *run) open(config gorm.Config, before func(*gorm.DB)) *gorm.DB {
	o, err := r.side.open(config, before)
	if err != nil {
		r.broken = err
		panic(err)
	}
	r.own = append(r.own, o)
	return o.db.WithContext(r.ctx)
}

// runKey is under what a context holds the run.
type runKey struct{}

// runOf returns the run that a hook's or a callback's handle belongs to.
func runOf(tx *gorm.DB) *run {
	if r, ok := tx.Statement.Context.Value(runKey{}).(*run); ok {
		return r
	}
	return tx.Logger.(*recorder).side.current.Load()
}

// execute runs a program on a side and returns what it saw.
func (s *side) execute(ctx context.Context, p program) ([]string, error) {
	r := &run{side: s}
	r.ctx = context.WithValue(context.Background(), runKey{}, r)
	if s.mode.sessions && s.plugin != nil {
		r.ctx = readsplit.WithSession(r.ctx, readsplit.NewSession())
	}
	r.db = s.db.WithContext(r.ctx)
	s.current.Store(r)
	r.guard(func() { p.do(r) })
	errs := []error{r.broken}
	for _, o := range r.own {
		errs = append(errs, o.close())
	}
	after, err := s.contents(ctx)
	errs = append(errs, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.anyOrder {
		slices.Sort(r.lines)
	}
	if !maps.Equal(after, s.pristine) {
		for _, name := range slices.Sorted(maps.Keys(after)) {
			if after[name] != s.pristine[name] {
				r.lines = append(r.lines, "in the end "+name+": "+after[name])
			}
		}
		errs = append(errs, s.restore(ctx, after))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("program %q on %s: %w", p.name, s.name, err)
	}
	return r.lines, nil
}

// clusterDSN is the data source of the run's database.
func clusterDSN(r *run) string { return cluster.Primary().DSNFor(r.database) }
