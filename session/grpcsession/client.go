package grpcsession

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
)

// caller is one call of a client.
type caller struct {
	of      *Sessions
	session *readsplit.Session // of the context; else nobody's, and nothing is sent
	method  string
	sent    string
}

// outgoing returns ctx with the token of its session. Where the session has written
// in a transaction that is still open, the token says "unsure".
func (s *Sessions) outgoing(ctx context.Context, method string) (context.Context, *caller) {
	c := &caller{of: s, session: readsplit.SessionFrom(ctx), method: method}
	bounded, cancel := context.WithTimeout(ctx, s.opts.Wait)
	defer cancel()
	token, err := c.session.Token(bounded)
	if err != nil {
		token = c.session.TokenNow()
	}
	c.sent = token
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, Key, token)
	}
	return ctx, c
}

// hear joins what came back.
func (c *caller) hear(md metadata.MD) {
	for i, token := range md[Key] {
		if i == maxJoined {
			c.of.counters.tooMany.Add(1)
			c.session.Doubt()
			return
		}
		if token != nothing {
			c.session.JoinAnswer(c.sent, token)
		}
	}
}

// end joins the answer of a call that has ended. A call that was sent and got no
// answer may have written.
func (c *caller) end(header, trailer metadata.MD, sent bool, err error) {
	c.hear(header)
	c.hear(trailer)
	// The whole answer of a server that failed without a header is in its trailer.
	answered := len(trailer[Key]) > 0 || len(trailer["content-type"]) > 0
	if err != nil && sent && !answered {
		c.lost()
	}
}

// lost leaves a doubt where the call went.
func (c *caller) lost() {
	if c.of.onlyReads(c.method) {
		return
	}
	c.of.counters.lost.Add(1)
	if c.of.opts.Peer == "" {
		c.session.DoubtAlone() // whoever sent the request that led to the call can break it off
	}
	c.session.JoinAnswer("", session.Bundle{}.Lose(c.of.opts.Peer).String())
}

// UnaryClient is a grpc.UnaryClientInterceptor.
func (s *Sessions) UnaryClient(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx, c := s.outgoing(ctx, method)
	var header, trailer metadata.MD
	var to peer.Peer
	err := invoker(ctx, method, req, reply, cc, append(slices.Clip(opts), grpc.Header(&header), grpc.Trailer(&trailer), grpc.Peer(&to))...)
	c.end(header, trailer, to.Addr != nil, err)
	return err
}

// StreamClient is a grpc.StreamClientInterceptor. A server knows what the session had
// to see when the stream began. The session joins what the stream's header says with
// its first message, and all of it when the stream has ended: receive until io.EOF, or
// a stream that may have written leaves a doubt.
func (s *Sessions) StreamClient(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, c := s.outgoing(ctx, method)
	cs := &clientStream{caller: c, single: !desc.ServerStreams}
	under, err := streamer(ctx, desc, cc, method, append(slices.Clip(opts), grpc.OnFinish(cs.finished))...)
	if err != nil {
		return nil, err
	}
	cs.ClientStream = under
	cs.begun.Store(true)
	if cs.ended.Load() {
		cs.end.Do(c.lost) // before anybody could receive
	}
	return cs, nil
}

type clientStream struct {
	grpc.ClientStream
	caller    *caller
	single    bool // one message comes back, and then it has ended
	begun     atomic.Bool
	ended     atomic.Bool // with an error
	receiving atomic.Bool
	head, end sync.Once
}

func (s *clientStream) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	s.head.Do(func() { s.caller.hear(md) })
	return md, err
}

func (s *clientStream) RecvMsg(m any) error {
	s.receiving.Store(true)
	defer s.receiving.Store(false)
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		_, _ = s.Header() // it is there, and its error would be that of the message
	}
	if err != nil || s.single {
		s.end.Do(func() {
			header, _ := s.ClientStream.Header() // as above
			_, sent := peer.FromContext(s.ClientStream.Context())
			failure := err
			if errors.Is(err, io.EOF) {
				failure = nil
			}
			s.caller.end(header, s.Trailer(), sent, failure)
		})
	}
	return err
}

// finished is called when the stream has ended. One that ends while nobody receives
// was given up; one that has not begun was never sent.
func (s *clientStream) finished(err error) {
	if err == nil {
		return
	}
	s.ended.Store(true)
	if s.begun.Load() && !s.receiving.Load() {
		s.end.Do(s.caller.lost)
	}
}
