package discover

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Source says which servers there are now.
//
// Lookup returns all of them, also those that are down: who can be read from is found
// out elsewhere. Nobody and no error means that there is none. Where it does not know,
// it returns an error, and nothing changes; half an answer is none. It honours ctx,
// which ends when the lookup may take no longer, or when the application closes: who
// does not honour it delays both. It is called from one goroutine at a time. The
// caller may keep what it returns.
type Source interface {
	Lookup(ctx context.Context) ([]Server, error)
}

// Func is a Source of a function, under the name that logs and the status give it.
func Func(name string, lookup func(ctx context.Context) ([]Server, error)) Source {
	return function{name, lookup}
}

type function struct {
	name   string
	lookup func(ctx context.Context) ([]Server, error)
}

func (f function) Lookup(ctx context.Context) ([]Server, error) { return f.lookup(ctx) }
func (f function) String() string                               { return f.name }

// Queryer asks a primary: a *sql.DB.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// OnPrimary is a source that asks the primary. Whoever knows which server that is now
// gives it the connection; readsplit gives its own, which follows a failover.
type OnPrimary interface {
	// On returns the source that asks there. It is called before each lookup, and
	// what the source remembers is kept.
	On(primary Queryer) Source
}

// Static is a source of servers that do not change.
func Static(servers ...Server) Source {
	servers = append([]Server(nil), servers...)
	return Func("static", func(context.Context) ([]Server, error) { return servers, nil })
}

// Join is a source of what several sources find. Where two find one endpoint the first
// is right. One that fails makes the answer fail: what the others say would take out
// its servers.
func Join(sources ...Source) Source { return joined(sources) }

type joined []Source

func (j joined) Lookup(ctx context.Context) ([]Server, error) {
	var all []Server
	var errs []error
	for _, s := range j {
		found, err := s.Lookup(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", NameOf(s), err))
		}
		all = append(all, found...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return all, nil
}

// On implements [OnPrimary].
func (j joined) On(primary Queryer) Source {
	bound := make(joined, len(j))
	for i, s := range j {
		bound[i] = Bound(s, primary)
	}
	return bound
}

func (j joined) String() string {
	names := make([]string, len(j))
	for i, s := range j {
		names[i] = NameOf(s)
	}
	return strings.Join(names, ", ")
}

// With is what s finds, after change: its zone, its groups, its name.
func With(s Source, change func(*Server)) Source { return changed{s, change} }

type changed struct {
	Source
	change func(*Server)
}

func (c changed) Lookup(ctx context.Context) ([]Server, error) {
	found, err := c.Source.Lookup(ctx)
	found = append([]Server(nil), found...)
	for i := range found {
		c.change(&found[i])
	}
	return found, err
}

// On implements [OnPrimary].
func (c changed) On(primary Queryer) Source { return changed{Bound(c.Source, primary), c.change} }

func (c changed) String() string { return NameOf(c.Source) }

// Bound is s, asking that primary if it is one that asks a primary.
func Bound(s Source, primary Queryer) Source {
	if b, ok := s.(OnPrimary); ok {
		return b.On(primary)
	}
	return s
}

// NameOf is how a source is called in logs: its String method, or its type.
func NameOf(s Source) string {
	if named, ok := s.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", s)
}
