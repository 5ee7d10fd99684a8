package grpcsession_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session/grpcsession"
)

// One line for a server, and one for a client. Services use their context with GORM and
// know nothing of tokens.
func Example() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	server := grpc.NewServer(grpcsession.ServerOptions()...) // the server's line
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	options := append(grpcsession.DialOptions(), // the client's
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient(listener.Addr().String(), options...)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	user := readsplit.WithSession(context.Background(), readsplit.NewSession())
	answer, err := grpc_health_v1.NewHealthClient(conn).Check(user, &grpc_health_v1.HealthCheckRequest{})
	fmt.Println(answer.GetStatus(), err)
	// Output: SERVING <nil>
}

// What calls ask for, by method and by service. New reports every mistake of its options.
func ExampleNew() {
	sessions, err := grpcsession.New(grpcsession.Options{
		Methods: map[string]grpcsession.Mark{
			"/shop.Reports/":     grpcsession.All(grpcsession.Group("reporting"), grpcsession.AtMost(time.Minute)),
			"/shop.Orders/List":  grpcsession.OneServer,
			"/shop.Orders/Total": readsplit.Fresh,
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := grpc.NewServer(sessions.ServerOptions()...)
	defer server.Stop()
	fmt.Println(sessions.Stats().Calls)

	_, err = grpcsession.New(grpcsession.Options{Wait: time.Minute})
	fmt.Println(err)
	// Output:
	// 0
	// readsplit: grpcsession: Options.Wait is 1m0s: it must be positive and at most 1s (0 means the default)
}
