package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"gorm.io/gorm/logger"
)

// warnings keeps what the plugin warns of.
type warnings struct {
	logger.Interface
	mu  sync.Mutex
	all []string
}

// Warn implements logger.Interface.
func (w *warnings) Warn(_ context.Context, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, fmt.Sprintf(format, args...))
}

// about counts those that name something.
func (w *warnings) about(what string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.all {
		if strings.Contains(line, what) {
			n++
		}
	}
	return n
}
