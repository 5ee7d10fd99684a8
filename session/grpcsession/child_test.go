package grpcsession_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/session/grpcsession"
)

// childEnv makes this test's program a server in a process of its own.
const childEnv = "READSPLIT_GRPCSESSION_SERVICE"

// child serves orders under the service's name, with a key that nobody else has,
// until its standard input ends. It prints where.
func child() int {
	name := os.Getenv(childEnv)
	cfg := config(os.Getenv("REPLICA"))
	cfg.Service, cfg.TokenKeys = name, [][]byte{[]byte("the key of " + name + " and of nobody else")}
	err := func() error {
		db, err := gorm.Open(postgres.Open(os.Getenv("PRIMARY")), &gorm.Config{Logger: logger.Discard})
		if err != nil {
			return err
		}
		plugin := readsplit.New(cfg)
		if err := db.Use(plugin); err != nil {
			return err
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		server := grpc.NewServer(grpcsession.ServerOptions()...)
		server.RegisterService(&ordersService, &shop{db: db, plugin: plugin})
		fmt.Println(listener.Addr())
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			server.Stop()
		}()
		if err := server.Serve(listener); err != nil {
			return err
		}
		return plugin.Close(context.Background())
	}()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// service starts a child.
func service(t *testing.T, name, primary, replica string) *grpc.ClientConn {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+name, "PRIMARY="+primary, "REPLICA="+replica)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	})
	addr, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	sessions, err := grpcsession.New(grpcsession.Options{Peer: name})
	require.NoError(t, err)
	return dial(t, strings.TrimSpace(addr), sessions.DialOptions()...)
}

// A gateway without a database calls two services with keys of their own, each in two
// processes, and carries what its user must see in both.
func TestGatewayCarriesTheTokensOfTwoServices(t *testing.T) {
	c, first := database(t)
	_, second := database(t)
	var orders, billing [2]*grpc.ClientConn
	for i := range 2 {
		orders[i] = service(t, "orders", c.Primary().DSNFor(first), c.Replica(0).DSNFor(first))
		billing[i] = service(t, "billing", c.Primary().DSNFor(second), c.Replica(0).DSNFor(second))
	}
	for _, conn := range []*grpc.ClientConn{orders[0], orders[1], billing[0], billing[1]} {
		require.Eventually(t, func() bool { return count(t, visitor(), conn) == "0 on replica1" }, limitOf, tick)
	}
	pause(t, c)

	// Each request of the user has a session of its own, which carries a cookie.
	cookie := ""
	request := func(run func(ctx context.Context)) {
		s := readsplit.NewSession()
		s.Join(cookie)
		ctx := readsplit.WithSession(t.Context(), s)
		run(ctx)
		if s.Changed() {
			cookie = s.TokenNow()
		}
	}
	add := func(conn *grpc.ClientConn) func(ctx context.Context) {
		return func(ctx context.Context) {
			_, err := call(ctx, conn, "Add", "a book")
			require.NoError(t, err)
		}
	}
	request(add(orders[0]))
	request(func(ctx context.Context) {
		assert.Equal(t, "1 on primary", count(t, ctx, orders[1]))
		assert.Equal(t, "0 on replica1", count(t, ctx, billing[1]), "what is known of orders binds nobody else")
	})
	request(add(billing[0]))
	request(add(orders[1]))
	b, err := session.ParseBundle(cookie)
	require.NoError(t, err)
	assert.Equal(t, []string{"billing", "orders"}, b.Services())
	for _, name := range b.Services() {
		tokens, lost := b.Tokens(name)
		assert.Len(t, tokens, 1, "the further of two positions is kept, without a key")
		assert.False(t, lost)
		content, err := readsplit.Config{TokenKeys: [][]byte{[]byte("the key of " + name + " and of nobody else")}}.ParseToken(tokens[0])
		require.NoError(t, err)
		assert.Len(t, content.Positions, 1)
	}
	request(func(ctx context.Context) {
		assert.Equal(t, "1 on primary", count(t, ctx, billing[1]))
		assert.Equal(t, "2 on primary", count(t, ctx, orders[0]))
	})

	// A call that was broken off leaves a doubt where it went, and nowhere else.
	request(func(ctx context.Context) {
		s := readsplit.SessionFrom(ctx)
		s.JoinAnswer("", session.Bundle{}.Lose("billing").String())
	})
	b, err = session.ParseBundle(cookie)
	require.NoError(t, err)
	_, lost := b.Tokens("billing")
	assert.True(t, lost)
	request(func(ctx context.Context) { assert.Equal(t, "1 on primary", count(t, ctx, billing[1])) })
	b, err = session.ParseBundle(cookie)
	require.NoError(t, err)
	_, lost = b.Tokens("billing")
	assert.False(t, lost, "the service itself says now how long it is in doubt")
}
