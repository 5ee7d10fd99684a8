package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/readsplit/readsplit/examples/webshop/web"
	"github.com/readsplit/readsplit/session/httpsession"
)

// Report is what a process says of itself on its standard output, one line each: first
// where it listens, and at its end what the plugin has counted.
type Report struct {
	// Listen is where it answers.
	Listen    string `json:",omitempty"`
	Retries   uint64 `json:",omitempty"`
	Captures  uint64 `json:",omitempty"`
	Unsure    uint64 `json:",omitempty"`
	Voided    uint64 `json:",omitempty"`
	BadTokens uint64 `json:",omitempty"`
	// Reads is how many queries each server has answered, and Failed how many ended
	// with an error.
	Reads  map[string]uint64 `json:",omitempty"`
	Failed uint64            `json:",omitempty"`
}

// Add adds what another process has counted.
func (r *Report) Add(other Report) {
	r.Retries += other.Retries
	r.Captures += other.Captures
	r.Unsure += other.Unsure
	r.Voided += other.Voided
	r.BadTokens += other.BadTokens
	r.Failed += other.Failed
	for server, n := range other.Reads {
		if r.Reads == nil {
			r.Reads = make(map[string]uint64)
		}
		r.Reads[server] += n
	}
}

// closeTimeout bounds how long the end of a process may take.
const closeTimeout = 10 * time.Second

// Serve is the life of a process: it answers until ctx ends.
func Serve(ctx context.Context, c Config, out io.Writer) (err error) {
	o, err := open(c)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, o.close(closing))
	}()
	handler := web.New(o.db, []byte(c.Key), c.Name).Handler()
	if c.Sessions {
		sessions, err := httpsession.New(httpsession.Options{Insecure: true}) // plain http, on one machine
		if err != nil {
			return err
		}
		handler = sessions.Handler(handler) // a user's last write follows them: that is all
	}
	l, err := listen(handler)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.end(ctx)) }()
	say := json.NewEncoder(out)
	if err := say.Encode(Report{Listen: l.addr}); err != nil {
		return fmt.Errorf("webshop: say where it listens: %w", err)
	}
	select {
	case <-ctx.Done():
	case err := <-l.failed:
		return err
	}
	st := o.status()
	report := o.counts.report()
	report.Add(Report{Captures: st.Captures, Unsure: st.Unsure, Voided: st.Voided,
		BadTokens: st.Tokens.Refused + st.Tokens.Foreign + st.Tokens.Expired})
	for _, n := range st.Retries {
		report.Retries += n
	}
	return say.Encode(report)
}

// listener is a server on a port of its own.
type listener struct {
	server http.Server
	addr   string
	failed chan error
	done   chan struct{}
}

// listen begins to answer. Its goroutine ends with end.
func listen(h http.Handler) (*listener, error) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("webshop: listen: %w", err)
	}
	l := &listener{
		server: http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second},
		addr:   socket.Addr().String(), failed: make(chan error, 1), done: make(chan struct{}),
	}
	go func() {
		defer close(l.done)
		if err := l.server.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			l.failed <- fmt.Errorf("webshop: serve: %w", err)
		}
	}()
	return l, nil
}

// end lets the requests under way finish, and joins.
func (l *listener) end(ctx context.Context) error {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err := l.server.Shutdown(closing)
	<-l.done
	return err
}
