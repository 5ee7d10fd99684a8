package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// progress shows on a terminal how far a run is, in one line that is overwritten.
// Elsewhere it shows nothing: a log is for results.
type progress struct {
	out io.Writer // nil: nobody is looking

	mu    sync.Mutex
	shown time.Time
}

func newProgress(out io.Writer) *progress {
	file, ok := out.(*os.File)
	if !ok {
		return &progress{}
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("TERM") == "dumb" {
		return &progress{}
	}
	return &progress{out: out}
}

func (p *progress) label(what string) { p.show(what + " ...") }

func (p *progress) at(n, total int) {
	p.mu.Lock()
	now := time.Now()
	due := now.Sub(p.shown) >= 100*time.Millisecond
	if due {
		p.shown = now
	}
	p.mu.Unlock()
	if due {
		p.show(fmt.Sprintf("%d of %d journeys", n, total))
	}
}

func (p *progress) clear() { p.show("") }

func (p *progress) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out != nil {
		fmt.Fprintf(p.out, "\r\x1b[K%s", text)
	}
}
