package dbresolver_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"gorm.io/gorm/logger"
)

// recorder is GORM's logger of a test: it keeps what is logged.
type recorder struct {
	mu     sync.Mutex
	lines  []string
	traces []string
}

func (r *recorder) logged(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// traced returns the statements that were logged, and forgets them.
func (r *recorder) traced() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.traces
	r.traces = nil
	return t
}

func (r *recorder) messages() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// LogMode implements logger.Interface.
func (r *recorder) LogMode(logger.LogLevel) logger.Interface { return r }

// Info implements logger.Interface.
func (r *recorder) Info(_ context.Context, format string, args ...any) { r.logged(format, args...) }

// Warn implements logger.Interface.
func (r *recorder) Warn(_ context.Context, format string, args ...any) { r.logged(format, args...) }

// Error implements logger.Interface.
func (r *recorder) Error(_ context.Context, format string, args ...any) { r.logged(format, args...) }

// Trace implements logger.Interface.
func (r *recorder) Trace(_ context.Context, _ time.Time, f func() (string, int64), _ error) {
	sql, _ := f()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.traces = append(r.traces, sql)
}
