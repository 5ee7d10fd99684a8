package grpcsession_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

var shared struct {
	start     sync.Once
	cluster   *testenv.Cluster
	err       error
	databases atomic.Int64
}

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child())
	}
	code := m.Run()
	if shared.cluster != nil {
		if err := shared.cluster.Close(context.Background()); err != nil {
			fmt.Println(err)
			code = 1
		}
	}
	os.Exit(code)
}

func limit(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// database makes a database with an order table on the shared cluster.
func database(t *testing.T) (c *testenv.Cluster, name string) {
	t.Helper()
	shared.start.Do(func() {
		shared.cluster, shared.err = testenv.New(context.Background(), testenv.Config{Replicas: 1})
	})
	require.NoError(t, shared.err)
	c = shared.cluster
	t.Cleanup(func() { require.NoError(t, c.UndoAll()) })
	name = fmt.Sprintf("shop_%d", shared.databases.Add(1))
	require.NoError(t, c.CreateDatabase(limit(t), name))
	admin := openPlain(t, c.Primary().DSNFor(name))
	require.NoError(t, admin.Exec("CREATE TABLE orders (id bigserial PRIMARY KEY, title text)").Error)
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	return c, name
}

func openPlain(t *testing.T, dsn string) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(postgres.Open(dsn), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	t.Cleanup(func() {
		pool, err := db.DB()
		require.NoError(t, err)
		require.NoError(t, pool.Close())
	})
	return db
}

// pause makes the replica stay as it is, until the test ends or undo.
func pause(t *testing.T, c *testenv.Cluster) (undo func()) {
	t.Helper()
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	u, err := c.Replica(0).PauseReplay(limit(t))
	require.NoError(t, err)
	return func() { require.NoError(t, u()) }
}

// config lets reads go where their session alone says, also on a busy machine.
func config(replica string) readsplit.Config {
	return readsplit.Config{
		Replicas: []readsplit.Replica{{Name: "replica1", Dialector: postgres.Open(replica)}},
		MaxLag:   readsplit.Off, MaxSampleAge: 20 * time.Second, SampleTimeout: 10 * time.Second, MaxWait: 50 * time.Millisecond,
	}
}

// shop is the service: it writes and reads orders, and knows nothing of replicas.
// seen is called in each call with its context.
type shop struct {
	db     *gorm.DB
	plugin *readsplit.Plugin
	during func(ctx context.Context, title string) error // in Add, after the write
	// whileCounting runs in Count, after the read.
	whileCounting func() error
}

type text = wrapperspb.StringValue

func (s *shop) add(ctx context.Context, title string) error {
	if err := s.db.WithContext(ctx).Exec("INSERT INTO orders (title) VALUES (?)", title).Error; err != nil {
		return err
	}
	if s.during != nil {
		return s.during(ctx, title)
	}
	return nil
}

// count says how many orders a server has, and which.
func (s *shop) count(ctx context.Context) (*text, error) {
	var found string
	err := s.db.WithContext(ctx).Raw("SELECT count(*) || ' on ' || current_setting('cluster_name') FROM orders").Scan(&found).Error
	if err == nil && s.whileCounting != nil {
		err = s.whileCounting()
	}
	return wrapperspb.String(found), err
}

// list is a stream of answers: add each title that comes, and say what there is.
func (s *shop) list(stream grpc.ServerStream) error {
	for {
		var title text
		switch err := stream.RecvMsg(&title); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := s.add(stream.Context(), title.Value); err != nil {
			return err
		}
		found, err := s.count(stream.Context())
		if err != nil {
			return err
		}
		if err := stream.SendMsg(found); err != nil {
			return err
		}
	}
}

// load is a stream of titles with one answer.
func (s *shop) load(stream grpc.ServerStream) error {
	for {
		var title text
		if err := stream.RecvMsg(&title); errors.Is(err, io.EOF) {
			return stream.SendMsg(wrapperspb.String("loaded"))
		} else if err != nil {
			return err
		}
		if err := s.add(stream.Context(), title.Value); err != nil {
			return err
		}
	}
}

func unary(name string, run func(s *shop, ctx context.Context, in *text) (*text, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		in := &text{}
		if err := dec(in); err != nil {
			return nil, err
		}
		handler := func(ctx context.Context, req any) (any, error) { return run(srv.(*shop), ctx, req.(*text)) }
		if interceptor == nil {
			return handler(ctx, in)
		}
		return interceptor(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: "/shop.Orders/" + name}, handler)
	}}
}

var ordersService = grpc.ServiceDesc{
	ServiceName: "shop.Orders",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{
		unary("Add", func(s *shop, ctx context.Context, in *text) (*text, error) { return in, s.add(ctx, in.Value) }),
		unary("Count", func(s *shop, ctx context.Context, _ *text) (*text, error) { return s.count(ctx) }),
	},
	Streams: []grpc.StreamDesc{
		{StreamName: "List", ServerStreams: true, ClientStreams: true, Handler: func(srv any, stream grpc.ServerStream) error { return srv.(*shop).list(stream) }},
		{StreamName: "Load", ClientStreams: true, Handler: func(srv any, stream grpc.ServerStream) error { return srv.(*shop).load(stream) }},
	},
}

// process starts a server with a plugin of its own, as another process has it, and
// returns a connection to it.
func process(t *testing.T, c *testenv.Cluster, database string, server []grpc.ServerOption, client []grpc.DialOption) (*shop, *grpc.ClientConn) {
	t.Helper()
	s := &shop{db: openPlain(t, c.Primary().DSNFor(database))}
	s.plugin = readsplit.New(config(c.Replica(0).DSNFor(database)))
	require.NoError(t, s.db.Use(s.plugin))
	t.Cleanup(func() { require.NoError(t, s.plugin.Close(limit(t))) })
	require.Eventually(t, func() bool { return s.plugin.Status().Replicas[0].Up }, 30*time.Second, 2*time.Millisecond)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer(server...)
	g.RegisterService(&ordersService, s)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	t.Cleanup(func() {
		g.Stop()
		require.NoError(t, <-served)
	})
	return s, dial(t, listener.Addr().String(), client...)
}

func dial(t *testing.T, addr string, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

// visitor is a user's request somewhere, whose session has nothing to see.
func visitor() context.Context {
	return readsplit.WithSession(context.Background(), readsplit.NewSession())
}

func call(ctx context.Context, conn *grpc.ClientConn, method, in string) (string, error) {
	var out text
	err := conn.Invoke(ctx, "/shop.Orders/"+method, wrapperspb.String(in), &out)
	return out.Value, err
}

func count(t testing.TB, ctx context.Context, conn *grpc.ClientConn) string {
	t.Helper()
	found, err := call(ctx, conn, "Count", "")
	require.NoError(t, err)
	return found
}
