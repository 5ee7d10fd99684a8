package matrix

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/readonlyguard"
)

// probe is what a cell has in its hands while it runs.
type probe struct {
	db       *gorm.DB        // with the cell's context
	ctx      context.Context // the same
	problems []string
}

// stop is how FailNow leaves a cell.
type stop struct{}

// Errorf implements require.TestingT.
func (p *probe) Errorf(format string, args ...any) {
	p.problems = append(p.problems, strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// FailNow implements require.TestingT.
func (p *probe) FailNow() { panic(stop{}) }

// ok: there was no error.
func (p *probe) ok(err error) { require.NoError(p, err) }

// rows: there was no error, and n rows were found or affected.
func (p *probe) rows(n int64, tx *gorm.DB) {
	require.NoError(p, tx.Error)
	require.Equal(p, n, tx.RowsAffected, "rows")
}

// run runs a cell in a context of the line and returns what the servers saw of it.
func (l *line) run(ctx context.Context, c *cell) (got outcome) {
	p := &probe{db: l.db.WithContext(ctx), ctx: ctx}
	l.guarded(p, &got, func() {
		if l.dirty {
			l.reset(ctx, p)
		}
		if l.unsure {
			l.calm(p)
		}
		l.past(ctx, p, c.setup)
		p.ok(l.e.watch.begin(l.database))
	})
	before, unsure := l.plugin.Status().Reasons, l.plugin.Status().Unsure
	l.guarded(p, &got, func() { c.do(p) })
	for r, n := range l.plugin.Status().Reasons {
		if n > before[r] {
			got.reasons += fmt.Sprintf(" %s:%d", r, n-before[r])
		}
	}
	l.guarded(p, &got, func() {
		var err error
		got.statements, err = l.e.watch.end()
		p.ok(err)
		l.past(ctx, p, c.remove)
	})
	for _, s := range got.statements {
		l.dirty = l.dirty || !s.control() && !readsOnly(s.text)
	}
	// What went around the plugin, it finds out when somebody reads.
	l.unsure = c.unseen || l.plugin.Status().Unsure != unsure
	got.failed = p.problems
	return got
}

// guarded runs a part of a cell, whichever way it ends.
func (l *line) guarded(p *probe, got *outcome, part func()) {
	defer func() {
		switch v := recover().(type) {
		case nil, stop:
		case error:
			if refusal := (*readonlyguard.Error)(nil); errors.As(v, &refusal) {
				got.refused = true
				return
			}
			p.Errorf("panic: %v\n%s", v, debug.Stack())
		default:
			p.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	part()
}
