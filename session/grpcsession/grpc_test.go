package grpcsession_test

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/session/grpcsession"
)

const (
	limitOf = 30 * time.Second
	tick    = 2 * time.Millisecond
)

func sessions(t testing.TB, o grpcsession.Options) *grpcsession.Sessions {
	t.Helper()
	s, err := grpcsession.New(o)
	require.NoError(t, err)
	return s
}

// two starts two processes over one database, with the replica's replay paused.
func two(t *testing.T, server ...grpc.ServerOption) (shops [2]*shop, conns [2]*grpc.ClientConn, undo func()) {
	t.Helper()
	c, name := database(t)
	if server == nil {
		server = grpcsession.ServerOptions()
	}
	for i := range 2 {
		shops[i], conns[i] = process(t, c, name, server, grpcsession.DialOptions())
	}
	for _, conn := range conns {
		require.Eventually(t, func() bool { return count(t, visitor(), conn) == "0 on replica1" }, limitOf, tick)
	}
	return shops, conns, pause(t, c)
}

// A call that writes, and one that reads on another process.
func TestWriteFollowsTheCaller(t *testing.T) {
	_, conns, undo := two(t)
	ctx := visitor()
	for n := 1; n <= 3; n++ {
		_, err := call(ctx, conns[0], "Add", "a book")
		require.NoError(t, err)
		assert.True(t, readsplit.SessionFrom(ctx).Changed(), "the caller's own carrier must tell its user")
		assert.Equal(t, string(rune('0'+n))+" on primary", count(t, ctx, conns[1]))
		assert.Equal(t, "0 on replica1", count(t, visitor(), conns[1]))
	}
	// By a token, in another request of the user.
	token, err := readsplit.SessionFrom(ctx).Token(ctx)
	require.NoError(t, err)
	next := visitor()
	readsplit.SessionFrom(next).Join(token)
	assert.Equal(t, "3 on primary", count(t, next, conns[1]))
	undo()
	require.Eventually(t, func() bool { return count(t, next, conns[1]) == "3 on replica1" }, limitOf, tick)
}

// An error does not undo what was written before it.
func TestFailedCallsTellWhatTheyWrote(t *testing.T) {
	recovering := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
		defer func() {
			if r := recover(); r != nil {
				err = status.Errorf(codes.Internal, "recovered: %v", r)
			}
		}()
		return handler(ctx, req)
	}
	shops, conns, _ := two(t, append([]grpc.ServerOption{grpc.ChainUnaryInterceptor(recovering)}, grpcsession.ServerOptions()...)...)
	shops[0].during = func(ctx context.Context, title string) error {
		switch title {
		case "panics":
			panic("in the handler")
		case "header first":
			if err := grpc.SendHeader(ctx, metadata.Pairs("x-of", "handler")); err != nil {
				return err
			}
		}
		return status.Error(codes.FailedPrecondition, title)
	}
	for i, c := range []struct {
		title string
		code  codes.Code
	}{{"fails", codes.FailedPrecondition}, {"header first", codes.FailedPrecondition}, {"panics", codes.Internal}} {
		ctx := visitor()
		_, err := call(ctx, conns[0], "Add", c.title)
		require.Equal(t, c.code, status.Code(err), c.title)
		assert.Equal(t, string(rune('1'+i))+" on primary", count(t, ctx, conns[1]), c.title)
		token, err := readsplit.Config{}.ParseToken(readsplit.SessionFrom(ctx).TokenNow())
		require.NoError(t, err)
		assert.Len(t, token.Positions, 1, c.title)
		assert.Zero(t, token.Unsure, c.title)
	}
	// A call that failed and wrote nothing leaves nothing behind.
	ctx := visitor()
	_, err := call(ctx, conns[0], "NoSuchMethod", "")
	require.Equal(t, codes.Unimplemented, status.Code(err))
	assert.False(t, readsplit.SessionFrom(ctx).Changed())
}

// The caller gives up, and the write happens all the same: nobody was told.
func TestCallWithoutAnAnswer(t *testing.T) {
	shops, conns, _ := two(t)
	written, goOn := make(chan struct{}), make(chan struct{})
	shops[0].during = func(context.Context, string) error {
		close(written)
		<-goOn
		return nil
	}
	defer close(goOn)
	user := visitor()
	ctx, cancel := context.WithCancel(user)
	go func() {
		<-written
		cancel()
	}()
	_, err := call(ctx, conns[0], "Add", "a book")
	require.Equal(t, codes.Canceled, status.Code(err))
	assert.Equal(t, "1 on primary", count(t, user, conns[1]))
	assert.True(t, readsplit.SessionFrom(user).Changed())

	// Another service's doubt is not ours.
	other := dial(t, conns[0].Target(), sessions(t, grpcsession.Options{Peer: "billing"}).DialOptions()...)
	written, user = make(chan struct{}), visitor()
	ctx, cancel = context.WithCancel(user)
	go func() {
		<-written
		cancel()
	}()
	_, err = call(ctx, other, "Add", "a book")
	require.Equal(t, codes.Canceled, status.Code(err))
	all, err := session.ParseBundle(readsplit.SessionFrom(user).TokenNow())
	require.NoError(t, err)
	_, lost := all.Tokens("billing")
	assert.True(t, lost)
	assert.Equal(t, "0 on replica1", count(t, user, conns[1]))

	// What was never sent leaves no doubt: an outage there must not send everybody to
	// the primary here.
	nowhere := dial(t, "127.0.0.1:1", grpcsession.DialOptions()...)
	user = visitor()
	_, err = call(user, nowhere, "Add", "a book")
	require.Equal(t, codes.Unavailable, status.Code(err))
	assert.False(t, readsplit.SessionFrom(user).Changed())
}

// gRPC's own retries drop the answers of all attempts but the last.
func TestAttemptsThatGRPCRepeats(t *testing.T) {
	shops, conns, _ := two(t)
	var tries atomic.Int64
	shops[0].during = func(context.Context, string) error {
		if tries.Add(1) == 1 {
			return status.Error(codes.Unavailable, "try again")
		}
		return nil
	}
	again := dial(t, conns[0].Target(), append(grpcsession.DialOptions(), grpc.WithDefaultServiceConfig(`{"methodConfig": [{
		"name": [{"service": "shop.Orders"}],
		"retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}
	}]}`))...)
	user := visitor()
	_, err := call(user, again, "Add", "a book")
	require.NoError(t, err)
	require.EqualValues(t, 2, tries.Load())
	content, err := readsplit.Config{}.ParseToken(readsplit.SessionFrom(user).TokenNow())
	require.NoError(t, err)
	assert.False(t, content.Unsure.IsZero())
	assert.Equal(t, "2 on primary", count(t, user, conns[1]))
}

// A transaction for each call: an interceptor inside of ours commits after the
// handler, one outside of ours after the answer.
func TestTransactionPerCall(t *testing.T) {
	for name, inside := range map[string]bool{"inside": true, "outside": false} {
		t.Run(name, func(t *testing.T) {
			var s *shop
			perCall := func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
				if !strings.HasSuffix(info.FullMethod, "Add") {
					return handler(ctx, req)
				}
				err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
					if err := tx.Exec("INSERT INTO orders (title) VALUES ('a book')").Error; err != nil {
						return err
					}
					resp, err = handler(ctx, req)
					return err
				})
				return resp, err
			}
			own := sessions(t, grpcsession.Options{})
			options := append(own.ServerOptions(), grpc.ChainUnaryInterceptor(perCall))
			if !inside {
				options = append([]grpc.ServerOption{grpc.ChainUnaryInterceptor(perCall)}, own.ServerOptions()...)
			}
			shops, conns, _ := two(t, options...)
			s = shops[0]
			held := make(chan bool, 1)
			shops[0].during = func(ctx context.Context, _ string) error {
				held <- readsplit.SessionFrom(ctx).InTransaction()
				return nil
			}
			ctx := visitor()
			_, err := call(ctx, conns[0], "Add", "a book")
			require.NoError(t, err)
			require.Equal(t, inside, <-held)
			assert.Equal(t, "2 on primary", count(t, ctx, conns[1]))
			if inside {
				assert.Zero(t, own.Stats().Unsure)
			}
		})
	}
}

// A caller that has a transaction open itself says "unsure".
func TestCallInsideATransaction(t *testing.T) {
	shops, conns, _ := two(t)
	ctx := visitor()
	require.NoError(t, shops[0].db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		require.NoError(t, tx.Exec("INSERT INTO orders (title) VALUES ('a book')").Error)
		assert.Equal(t, "0 on primary", count(t, ctx, conns[1]))
		return nil
	}))
	assert.Equal(t, "1 on primary", count(t, ctx, conns[1]))
}

func TestStreams(t *testing.T) {
	_, conns, _ := two(t)
	ctx := visitor()
	s := readsplit.SessionFrom(ctx)
	stream, err := conns[0].NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/shop.Orders/List")
	require.NoError(t, err)
	say := func(title string) string {
		require.NoError(t, stream.SendMsg(wrapperspb.String(title)))
		var found text
		require.NoError(t, stream.RecvMsg(&found))
		return found.Value
	}
	assert.False(t, s.Changed())
	assert.Equal(t, "1 on primary", say("a book"))
	assert.True(t, s.Changed(), "the header went out with the first message, after the write")
	assert.Equal(t, "1 on primary", count(t, ctx, conns[1]))
	assert.Equal(t, "2 on primary", say("another"))
	require.NoError(t, stream.CloseSend())
	require.ErrorIs(t, stream.RecvMsg(&text{}), io.EOF)
	token, err := s.Token(ctx)
	require.NoError(t, err)
	content, err := readsplit.Config{}.ParseToken(token)
	require.NoError(t, err)
	assert.Zero(t, content.Unsure, "it was received to its end")
	assert.Equal(t, "2 on primary", count(t, ctx, conns[1]))

	// Many messages, one answer.
	ctx = visitor()
	stream, err = conns[0].NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, "/shop.Orders/Load")
	require.NoError(t, err)
	require.NoError(t, stream.SendMsg(wrapperspb.String("a third")))
	require.NoError(t, stream.CloseSend())
	require.NoError(t, stream.RecvMsg(&text{}))
	assert.Equal(t, "3 on primary", count(t, ctx, conns[1]))
	content, err = readsplit.Config{}.ParseToken(readsplit.SessionFrom(ctx).TokenNow())
	require.NoError(t, err)
	assert.Zero(t, content.Unsure)
}

// A stream that is given up may have written.
func TestStreamThatIsGivenUp(t *testing.T) {
	_, conns, _ := two(t)
	user := visitor()
	ctx, cancel := context.WithCancel(user)
	stream, err := conns[0].NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/shop.Orders/List")
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, stream.SendMsg(wrapperspb.String("a book")))
		require.NoError(t, stream.RecvMsg(&text{}))
	}
	cancel()
	require.Eventually(t, func() bool {
		content, err := readsplit.Config{}.ParseToken(readsplit.SessionFrom(user).TokenNow())
		return err == nil && !content.Unsure.IsZero()
	}, limitOf, tick)
	assert.Equal(t, "2 on primary", count(t, user, conns[1]))
}

// Marks by method, and by service.
func TestMethods(t *testing.T) {
	marks := map[string]grpcsession.Mark{
		"/shop.Orders/":      readsplit.Fresh,
		"/shop.Orders/Count": grpcsession.All(readsplit.UseReplica, grpcsession.AtMost(time.Hour), grpcsession.OneServer),
		"/shop.Orders/Load":  readsplit.ReadOnly,
	}
	c, name := database(t)
	marked := sessions(t, grpcsession.Options{Methods: marks})
	_, conn := process(t, c, name, marked.ServerOptions(), grpcsession.DialOptions())
	require.Eventually(t, func() bool { return count(t, visitor(), conn) == "0 on replica1" }, limitOf, tick)
	delete(marks, "/shop.Orders/Count")
	_, conn = process(t, c, name, sessions(t, grpcsession.Options{Methods: marks}).ServerOptions(), grpcsession.DialOptions())
	assert.Equal(t, "0 on primary", count(t, visitor(), conn))

	asks := map[string]grpcsession.Mark{"/shop.Orders/": grpcsession.Group("reporting")}
	_, conn = process(t, c, name, sessions(t, grpcsession.Options{Methods: asks}).ServerOptions(), grpcsession.DialOptions())
	_, err := call(visitor(), conn, "Count", "")
	assert.ErrorContains(t, err, `"reporting"`, "no replica is of that group")

	_, err = grpcsession.New(grpcsession.Options{
		Methods: map[string]grpcsession.Mark{"shop.Orders/Count": readsplit.Fresh, "/shop.Orders": readsplit.Fresh, "/a/b/c": readsplit.Fresh, "/a/b": nil},
		Wait:    time.Minute, Peer: "no name", User: func(context.Context) string { return "" },
	})
	for _, want := range []string{
		`Options.Methods has "shop.Orders/Count"`, `Options.Methods has "/shop.Orders"`, `Options.Methods has "/a/b/c"`, `Options.Methods["/a/b"] is nil`,
		"Options.Wait is 1m0s", `Options.Peer: "no name"`, "Options.User is set, but Store is nil",
	} {
		assert.ErrorContains(t, err, want)
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		assert.True(t, strings.HasPrefix(line, "readsplit: grpcsession: "), line)
	}
}

// Whatever comes in the metadata is never an error for the user.
func TestMetadataThatIsNotToBeTrusted(t *testing.T) {
	shops, conns, _ := two(t)
	other := visitor()
	_, err := call(other, conns[0], "Add", "a book")
	require.NoError(t, err)
	plain := dial(t, conns[1].Target())
	for name, token := range map[string]string{"rubbish": "rubbish", "oversized": strings.Repeat("r1.AAAA", 500), "a bundle": "b1~~~"} {
		before := shops[1].plugin.Status().Tokens.Refused
		var trailer metadata.MD
		var out text
		ctx := metadata.AppendToOutgoingContext(t.Context(), grpcsession.Key, token)
		require.NoError(t, plain.Invoke(ctx, "/shop.Orders/Count", &text{}, &out, grpc.Trailer(&trailer)), name)
		assert.Equal(t, "1 on primary", out.Value, name)
		assert.Greater(t, shops[1].plugin.Status().Tokens.Refused, before, name)
		assert.Len(t, trailer[grpcsession.Key], 1, "%s: the caller gets another", name)
	}
	ctx := t.Context()
	for range 40 {
		ctx = metadata.AppendToOutgoingContext(ctx, grpcsession.Key, "-")
	}
	var out text
	require.NoError(t, plain.Invoke(ctx, "/shop.Orders/Count", &text{}, &out))
	assert.Equal(t, "1 on primary", out.Value)
}

// A client without a session works as if the interceptors were not there.
func TestCallerWithoutASession(t *testing.T) {
	_, conns, _ := two(t)
	_, err := call(t.Context(), conns[0], "Add", "a book")
	require.NoError(t, err)
	_, err = call(t.Context(), conns[0], "NoSuchMethod", "")
	assert.Error(t, err)
}

// A service that has lost the context of its call: what it writes meanwhile counts as
// the call's.
func TestServiceThatLostItsContext(t *testing.T) {
	shops, conns, _ := two(t)
	shops[0].during = func(context.Context, string) error {
		return shops[0].db.Exec("INSERT INTO orders (title) VALUES ('without a context')").Error
	}
	ctx := visitor()
	_, err := call(ctx, conns[0], "Add", "a book")
	require.NoError(t, err)
	assert.Equal(t, "2 on primary", count(t, ctx, conns[1]))
}

// What is defined or marked to have no side effects leaves no doubt when it is broken
// off, and does not answer for what others write meanwhile.
func TestMethodsWithoutSideEffects(t *testing.T) {
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("grpcsession_test.proto"), Package: proto.String("shop"), Syntax: proto.String("proto3"),
		Dependency: []string{"google/protobuf/wrappers.proto"},
		Service: []*descriptorpb.ServiceDescriptorProto{{
			Name: proto.String("Orders"),
			Method: []*descriptorpb.MethodDescriptorProto{{
				Name: proto.String("Count"), InputType: proto.String(".google.protobuf.StringValue"), OutputType: proto.String(".google.protobuf.StringValue"),
				Options: &descriptorpb.MethodOptions{IdempotencyLevel: descriptorpb.MethodOptions_NO_SIDE_EFFECTS.Enum()},
			}},
		}},
	}, protoregistry.GlobalFiles)
	require.NoError(t, err)
	require.NoError(t, protoregistry.GlobalFiles.RegisterFile(file))
	shops, conns, _ := two(t)
	reached, goOn := make(chan struct{}), make(chan struct{})
	shops[0].whileCounting = func() error {
		close(reached)
		<-goOn
		return shops[0].db.Exec("INSERT INTO orders (title) VALUES ('by a job')").Error
	}
	user := visitor()
	ctx, cancel := context.WithCancel(user)
	go func() {
		<-reached
		cancel()
	}()
	_, err = call(ctx, conns[0], "Count", "")
	require.Equal(t, codes.Canceled, status.Code(err))
	assert.False(t, readsplit.SessionFrom(user).Changed())

	reached = make(chan struct{})
	close(goOn)
	assert.Equal(t, "0 on replica1", count(t, user, conns[0]))
	assert.False(t, readsplit.SessionFrom(user).Changed())
}

func BenchmarkUnaryServer(b *testing.B) {
	own := sessions(b, grpcsession.Options{})
	info := &grpc.UnaryServerInfo{FullMethod: "/shop.Orders/Add"}
	handler := func(context.Context, any) (any, error) { return nil, nil }
	for name, ctx := range map[string]context.Context{
		"nobody": b.Context(),
		"token":  metadata.NewIncomingContext(b.Context(), metadata.Pairs(grpcsession.Key, "r1.AAAA")),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = own.UnaryServer(ctx, nil, info, handler)
			}
		})
	}
}
