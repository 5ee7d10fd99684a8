package grpcsession

import (
	"sync/atomic"

	"google.golang.org/grpc"
)

// Sessions are the interceptors of servers and clients. One may serve several of
// both, and needs no closing.
type Sessions struct {
	opts     Options
	counters counters
	debts    debts
}

// New returns sessions that travel as o says. The error lists every problem of o.
func New(o Options) (*Sessions, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Sessions{opts: o}, nil
}

// ServerOptions are the interceptors with the default options: one line for a server.
func ServerOptions() []grpc.ServerOption {
	return (&Sessions{opts: Options{}.withDefaults()}).ServerOptions()
}

// DialOptions are the interceptors with the default options: one line for a client.
func DialOptions() []grpc.DialOption {
	return (&Sessions{opts: Options{}.withDefaults()}).DialOptions()
}

// ServerOptions belong before interceptors that use the database, such as one that
// runs each call in a transaction: what those commit after the handler has returned
// is then told to the client.
func (s *Sessions) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(s.UnaryServer), grpc.ChainStreamInterceptor(s.StreamServer)}
}

// DialOptions belong before interceptors that call again what has failed.
func (s *Sessions) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(s.UnaryClient), grpc.WithChainStreamInterceptor(s.StreamClient)}
}

// Stats counts what happened since [New].
type Stats struct {
	Calls    uint64 // that servers began
	Answered uint64 // with a token
	Unsure   uint64 // answers that could not wait for a position, or not for a commit
	TooMany  uint64 // calls that came with more tokens than are joined
	Lost     uint64 // calls of clients without an answer, whose outcome is unknown
	Store    uint64 // questions that the store did not answer
}

type counters struct{ calls, answered, unsure, tooMany, lost, store atomic.Uint64 }

// Stats returns a snapshot.
func (s *Sessions) Stats() Stats {
	c := &s.counters
	return Stats{c.calls.Load(), c.answered.Load(), c.unsure.Load(), c.tooMany.Load(), c.lost.Load(), c.store.Load()}
}
