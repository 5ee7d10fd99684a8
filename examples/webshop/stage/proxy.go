package stage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// proxy gives each request to the next process, as a load balancer without sticky
// sessions does.
type proxy struct {
	server    http.Server
	addr      string
	transport *http.Transport
	done      chan struct{}
}

// startProxy begins to answer. Its goroutine ends with end.
func startProxy(listen string, processes []*Process) (*proxy, error) {
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	targets := make([]*url.URL, len(processes))
	for i, p := range processes {
		u, err := url.Parse(p.URL)
		if err != nil {
			return nil, err
		}
		targets[i] = u
	}
	socket, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("webshop: listen: %w", err)
	}
	var turn atomic.Uint64
	p := &proxy{
		addr: socket.Addr().String(), done: make(chan struct{}),
		transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute},
	}
	p.server = http.Server{ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet, Handler: &httputil.ReverseProxy{
		Transport: p.transport,
		ErrorLog:  quiet, // clients that hang up
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(targets[turn.Add(1)%uint64(len(targets))])
			r.Out.Host = r.In.Host
			r.SetXForwarded()
		},
	}}
	go func() {
		defer close(p.done)
		_ = p.server.Serve(socket) // its error is that it was closed
	}()
	return p, nil
}

func (p *proxy) end(ctx context.Context) error {
	err := p.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = p.server.Close()
	}
	<-p.done
	p.transport.CloseIdleConnections()
	return err
}
