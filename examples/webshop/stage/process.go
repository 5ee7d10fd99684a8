package stage

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"

	"github.com/readsplit/readsplit/examples/webshop/app"
)

// Serve is the argument with which a program that uses this package is called again,
// once for each process of the application.
const Serve = "serve"

// Process is one process of the application.
type Process struct {
	// URL is its own address.
	URL string

	command *exec.Cmd
	in      io.Closer // its end ends the process
	out     *bufio.Scanner
	errOut  io.Writer
}

// startProcess returns when the process listens.
func startProcess(ctx context.Context, cfg app.Config, errOut io.Writer) (*Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("webshop: find this program: %w", err)
	}
	// Not bound to ctx: it is told to end, and then says what it has counted.
	c := exec.Command(program, Serve)
	c.Env = append(os.Environ(), cfg.Environment()...)
	c.Stderr = errOut
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("webshop: start a process: %w", err)
	}
	p := &Process{command: c, in: in, out: bufio.NewScanner(out), errOut: errOut}
	stop := context.AfterFunc(ctx, func() { _ = in.Close() })
	defer stop()
	report, err := p.listen()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("webshop: a process has ended before it listened: %w", err), in.Close(), c.Wait())
	}
	p.URL = "http://" + report.Listen
	return p, nil
}

// listen returns what the process says of itself next. What else it prints, as
// libraries do, goes on to a person.
func (p *Process) listen() (report app.Report, err error) {
	for p.out.Scan() {
		line := p.out.Bytes()
		if bytes.HasPrefix(line, []byte("{")) {
			return report, json.Unmarshal(line, &report)
		}
		if p.errOut != nil {
			fmt.Fprintf(p.errOut, "%s\n", line)
		}
	}
	return report, cmp.Or(p.out.Err(), io.ErrUnexpectedEOF)
}

// answers makes the process's first request.
func (p *Process) answers(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("webshop: a process does not answer: %w", err)
	}
	if err := res.Body.Close(); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("webshop: a process answers its first request with %s", res.Status)
	}
	return nil
}

// end tells the process to end, waits until it has, and returns its last words.
func (p *Process) end(ctx context.Context) (report app.Report, err error) {
	stop := context.AfterFunc(ctx, func() { _ = p.command.Process.Kill() })
	defer stop()
	_ = p.in.Close() // it may have ended before
	if report, err = p.listen(); err != nil {
		err = fmt.Errorf("webshop: the last words of a process: %w", err)
	}
	return report, errors.Join(err, p.command.Wait())
}

// Life is the context of a process of the application: it ends with its standard
// input, which whoever started it holds open.
func Life(in io.Reader) context.Context {
	ctx, end := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, in)
		end()
	}()
	return ctx
}
