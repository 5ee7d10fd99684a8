package compare

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"gorm.io/gorm/logger"
	"gorm.io/gorm/utils"
)

// recorder is GORM's logger of a side. What is logged belongs to what a program
// sees: the text of the statements, their rows, errors, and the line of the
// program that GORM takes for their origin.
type recorder struct{ side *side }

// LogMode implements logger.Interface.
func (l *recorder) LogMode(logger.LogLevel) logger.Interface { return l }

// Info implements logger.Interface.
func (l *recorder) Info(ctx context.Context, format string, args ...any) {
	l.message(ctx, "info", format, args)
}

// Warn implements logger.Interface.
func (l *recorder) Warn(ctx context.Context, format string, args ...any) {
	l.message(ctx, "warn", format, args)
}

// Error implements logger.Interface.
func (l *recorder) Error(ctx context.Context, format string, args ...any) {
	l.message(ctx, "error", format, args)
}

func (l *recorder) message(ctx context.Context, level, format string, args []any) {
	if r := l.run(ctx); r != nil && !strings.HasPrefix(format, "readsplit: ") {
		r.add("log %s %q %s", level, format, dump(args))
	}
}

// Trace implements logger.Interface.
func (l *recorder) Trace(ctx context.Context, _ time.Time, statement func() (string, int64), err error) {
	r := l.run(ctx)
	if r == nil {
		return // while the handle is opened
	}
	text, rows := statement()
	r.add("trace %s rows=%d error=%s\n    %s", filepath.Base(utils.FileWithLineNum()), rows, r.describe(err), text)
}

func (l *recorder) run(ctx context.Context) *run {
	if r, ok := ctx.Value(runKey{}).(*run); ok {
		return r
	}
	return l.side.current.Load()
}
