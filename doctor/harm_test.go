package doctor_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/doctor"
	"github.com/readsplit/readsplit/testenv"
)

func inject(t *testing.T, fault func(context.Context) (testenv.Undo, error)) {
	t.Helper()
	_, err := fault(limit(t))
	require.NoError(t, err)
}

// write makes the primary write more than a page.
func write(t *testing.T, c *testenv.Cluster) {
	t.Helper()
	run(t, c.Primary(), "CREATE TABLE written AS SELECT repeat('x', 100) FROM generate_series(1, 2000)")
	afterwards(t, c.Primary(), "DROP TABLE written")
}

// asInstalled gives a replica the settings that PostgreSQL comes with.
func asInstalled(t *testing.T, c *testenv.Cluster, _ *doctor.Topology) {
	configure(t, c.Replica(0), "hot_standby_feedback", "off")
	configure(t, c.Replica(0), "max_standby_streaming_delay", "30s")
}

// heldUp lets a transaction on a replica stop replay, behind a DROP on the primary.
func heldUp(t *testing.T, c *testenv.Cluster, x *doctor.Topology) {
	configure(t, c.Replica(0), "max_standby_streaming_delay", "-1")
	run(t, c.Primary(), "CREATE TABLE reported AS SELECT 1")
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	tx, err := c.Replica(0).DB().BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tx.Rollback()) })
	var n int
	require.NoError(t, tx.QueryRow("SELECT count(*) FROM reported").Scan(&n))
	run(t, c.Primary(), "DROP TABLE reported")
	write(t, c)
	x.LongTransaction = 50 * time.Millisecond
	until(t, c.Replica(0), `SELECT count(*) > 0 FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND xact_start < clock_timestamp() - interval '100 milliseconds'`)
}

// privileges lets a user ask less than everybody may.
func privileges(t *testing.T, c *testenv.Cluster, x *doctor.Topology) {
	require.NoError(t, c.CreateDatabase(limit(t), "guarded"))
	admin, err := sql.Open("pgx", c.Primary().DSNFor("guarded"))
	require.NoError(t, err)
	_, err = admin.ExecContext(limit(t), "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
	require.NoError(t, err)
	require.NoError(t, admin.Close())
	run(t, c.Primary(), "CREATE ROLE shop LOGIN PASSWORD 'only-in-a-test'")
	afterwards(t, c.Primary(), "DROP DATABASE guarded", "DROP ROLE shop")
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	as(x, c, "guarded", "shop")
}

// sessionDefaults gives a role defaults that no code shows.
func sessionDefaults(t *testing.T, c *testenv.Cluster, x *doctor.Topology) {
	run(t, c.Primary(), "CREATE ROLE shop LOGIN PASSWORD 'only-in-a-test' IN ROLE pg_monitor",
		"ALTER ROLE shop SET statement_timeout = '15s'",
		"ALTER ROLE shop SET idle_session_timeout = '5min'",
		"ALTER ROLE shop SET default_transaction_read_only = on",
		"ALTER ROLE shop SET default_transaction_isolation = 'serializable'")
	afterwards(t, c.Primary(), "DROP ROLE shop")
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	as(x, c, "postgres", "shop")
}

func as(x *doctor.Topology, c *testenv.Cluster, database, user string) {
	dsn := func(s *testenv.Server) string {
		return s.DSNFor(database) + named + " user=" + user + " password=only-in-a-test"
	}
	x.Primary.DSN = dsn(c.Primary())
	for i := range x.Replicas {
		x.Replicas[i].DSN = dsn(c.Replica(i))
	}
}

// several is one DSN of several servers.
func several(servers ...*testenv.Server) string {
	var hosts, ports []string
	for _, s := range servers {
		hosts, ports = append(hosts, "127.0.0.1"), append(ports, fmt.Sprint(s.Port()))
	}
	return servers[0].DSN() + named + " host=" + strings.Join(hosts, ",") + " port=" + strings.Join(ports, ",")
}

// at is a DSN with another port.
func at(dsn string, port int) string { return fmt.Sprintf("%s port=%d", dsn, port) }

// roundRobin listens and leads one connection after the other to the next server.
func roundRobin(t *testing.T, servers ...*testenv.Server) (port int) {
	t.Helper()
	var next atomic.Int64
	return serve(t, func(client net.Conn) {
		server, err := net.Dial("tcp4", servers[int(next.Add(1)-1)%len(servers)].Addr())
		if err != nil {
			return
		}
		back := make(chan struct{})
		go func() {
			defer close(back)
			_, _ = io.Copy(client, server)
			_ = client.Close()
		}()
		_, _ = io.Copy(server, client)
		_ = server.Close()
		<-back
	})
}
