package grpcsession

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// UnaryServer is a grpc.UnaryServerInterceptor. The token is in the trailer of the
// answer, which failed calls have too.
func (s *Sessions) UnaryServer(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	inside, c := s.begin(ctx, info.FullMethod)
	failed := true
	// Deferred, so that what was written before a panic is told when an interceptor
	// around this one answers for it. The panic goes on.
	defer func() {
		if md := c.trailer(failed); md != nil {
			_ = grpc.SetTrailer(ctx, md) // fails outside of a server alone
		}
	}()
	resp, err = handler(inside, req)
	failed = err != nil
	return resp, err
}

// StreamServer is a grpc.StreamServerInterceptor. The token is in the trailer, and
// what was written before the first message also in the header.
func (s *Sessions) StreamServer(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, c := s.begin(stream.Context(), info.FullMethod)
	failed := true
	defer func() {
		if md := c.trailer(failed); md != nil {
			stream.SetTrailer(md)
		}
	}()
	err := handler(srv, &serverStream{ServerStream: stream, ctx: ctx, call: c})
	failed = err != nil
	return err
}

type serverStream struct {
	grpc.ServerStream
	ctx  context.Context
	call *call
	once sync.Once
}

func (s *serverStream) Context() context.Context { return s.ctx }

func (s *serverStream) SendHeader(md metadata.MD) error {
	s.head()
	return s.ServerStream.SendHeader(md)
}

func (s *serverStream) SendMsg(m any) error {
	s.head()
	return s.ServerStream.SendMsg(m)
}

// head adds the token to the header that is about to go out.
func (s *serverStream) head() {
	s.once.Do(func() {
		if md := s.call.header(); md != nil {
			_ = s.SetHeader(md) // fails when the stream has ended, which what follows reports
		}
	})
}
