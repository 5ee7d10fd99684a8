package workload

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// frame is one line between a process of the application and the one that judges.
type frame struct {
	Event   *Event   `json:"event,omitempty"`
	Pass    *Message `json:"pass,omitempty"`
	Deliver *Message `json:"deliver,omitempty"`
	Ready   bool     `json:"ready,omitempty"`
	Stop    bool     `json:"stop,omitempty"`

	Operate  *Operation `json:"operate,omitempty"`
	Operated *operated  `json:"operated,omitempty"`
}

// operated is the answer to an Operation.
type operated struct {
	ID    int64  `json:"id"`
	Error string `json:"error,omitempty"`
}

// pipe is the link of a process that was started by another.
type pipe struct {
	mu  sync.Mutex
	w   *bufio.Writer
	enc *json.Encoder
	err error
}

func (p *pipe) send(f frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = p.enc.Encode(f)
	}
}

func (p *pipe) Record(e Event) { p.send(frame{Event: &e}) }

func (p *pipe) Pass(m Message) { p.sendNow(frame{Pass: &m}) }

func (p *pipe) sendNow(f frame) {
	p.send(f)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = p.w.Flush() // a token that waits in a buffer is old when it arrives
	}
}

// Serve is the whole life of a process: its Config comes as the first line of in,
// and tokens after it; what it records goes to out. It ends when it is told to, or
// when in ends because whoever started it is gone.
func Serve(in io.Reader, out io.Writer) error {
	dec := json.NewDecoder(bufio.NewReader(in))
	var cfg Config
	if err := dec.Decode(&cfg); err != nil {
		return fmt.Errorf("verify: read the configuration of a process: %w", err)
	}
	w := bufio.NewWriterSize(out, 1<<16)
	link := &pipe{w: w, enc: json.NewEncoder(w)}
	p, err := NewProcess(cfg, link)
	if err != nil {
		return err
	}
	link.send(frame{Ready: true})
	if err := w.Flush(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var operating sync.WaitGroup
	go func() { // ends with in, or with the process
		defer cancel()
		for {
			var f frame
			if err := dec.Decode(&f); err != nil || f.Stop {
				return
			}
			if f.Deliver != nil {
				p.Deliver(*f.Deliver)
			}
			if op := f.Operate; op != nil {
				operating.Go(func() {
					done := operated{ID: op.ID}
					if err := p.Operate(ctx, *op); err != nil {
						done.Error = err.Error()
					}
					link.sendNow(frame{Operated: &done})
				})
			}
		}
	}()
	err = p.Run(ctx)
	operating.Wait()
	link.mu.Lock()
	defer link.mu.Unlock()
	return errors.Join(err, link.err, w.Flush())
}

// Child is a process of the application that was started. Two goroutines run for it
// until Stop.
type Child struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	mu   sync.Mutex // of in, and of what follows
	enc  *json.Encoder
	done chan error
	// answers are the channels of operations that are under way, by ID.
	answers map[int64]chan error
	last    int64
}

// Start starts a process by running this program with the argument worker, and
// returns when it has opened its servers. What it records goes to link.
func Start(cfg Config, link Link) (*Child, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &Child{cmd: exec.Command(path, "worker"), done: make(chan error, 1), answers: map[int64]chan error{}}
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.enc = json.NewEncoder(c.in)
	if err := c.enc.Encode(cfg); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	ready := make(chan struct{})
	go func() {
		err := c.receive(bufio.NewReaderSize(out, 1<<16), link, ready)
		c.done <- errors.Join(err, c.cmd.Wait())
	}()
	select {
	case <-ready:
		return c, nil
	case err := <-c.done:
		return nil, fmt.Errorf("verify: process %d did not start: %w", cfg.Process, err)
	}
}

func (c *Child) receive(out io.Reader, link Link, ready chan struct{}) error {
	dec := json.NewDecoder(out)
	for {
		var f frame
		err := dec.Decode(&f)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case f.Ready:
			close(ready)
		case f.Event != nil:
			link.Record(*f.Event)
		case f.Pass != nil:
			link.Pass(*f.Pass)
		case f.Operated != nil:
			c.answer(f.Operated)
		}
	}
}

// Deliver hands the process a token.
func (c *Child) Deliver(m Message) { c.tell(frame{Deliver: &m}) }

// Operate does what an operator wants, and returns when that is done.
func (c *Child) Operate(ctx context.Context, op Operation) error {
	answer := make(chan error, 1)
	c.mu.Lock()
	c.last++
	op.ID = c.last
	c.answers[op.ID] = answer
	c.mu.Unlock()
	c.tell(frame{Operate: &op})
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("verify: %s of %q does not end: %w", op.What, op.Name, ctx.Err())
	}
}

func (c *Child) answer(done *operated) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := c.answers[done.ID]
	delete(c.answers, done.ID)
	switch {
	case answer == nil:
	case done.Error != "":
		answer <- errors.New(done.Error)
	default:
		answer <- nil
	}
}

func (c *Child) tell(f frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.enc.Encode(f) // a process that is gone says so when it is joined
}

// Stop lets the clients finish what they are doing and joins the process.
func (c *Child) Stop() error {
	c.tell(frame{Stop: true})
	return <-c.done
}
