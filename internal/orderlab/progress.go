package orderlab

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// Progress shows on a terminal what is going on, in one line that is overwritten.
// Where standard error is not a terminal it shows nothing: a log is for results.
type Progress struct {
	terminal bool

	mu    sync.Mutex
	label string
	total int
	shown time.Time
}

// NewProgress returns one for standard error.
func NewProgress() *Progress {
	info, err := os.Stderr.Stat()
	return &Progress{terminal: err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"}
}

// Begin names what is going on; total is 0 where it cannot be counted.
func (p *Progress) Begin(label string, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.label, p.total, p.shown = label, total, time.Time{}
	p.show(0)
}

// At says how far it is.
func (p *Progress) At(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.show(n)
}

// Clear makes room for a line of output.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}

func (p *Progress) show(n int) {
	now := time.Now()
	if !p.terminal || now.Sub(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = now
	if p.total == 0 {
		fmt.Fprintf(os.Stderr, "\r\x1b[K%s ...", p.label)
		return
	}
	fmt.Fprintf(os.Stderr, "\r\x1b[K%s: %d of %d orders", p.label, n, p.total)
}
