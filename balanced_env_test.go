package readsplit_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// oneName is a name that leads to several servers, as a Kubernetes service or HAProxy
// does: each new connection to the next of them, and to the one after it where that
// refuses.
type oneName struct {
	listener net.Listener
	next     atomic.Uint64
	done     sync.WaitGroup

	mu      sync.Mutex
	servers []*testenv.Server
	way     string // to all of them; empty: their own addresses
	open    map[net.Conn]bool
	over    bool
}

func newName(t testing.TB, servers ...*testenv.Server) *oneName {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	n := &oneName{listener: l, servers: servers, open: map[net.Conn]bool{}}
	n.done.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			n.done.Go(func() { n.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		n.mu.Lock()
		n.over = true
		for c := range n.open {
			_ = c.Close()
		}
		n.mu.Unlock()
		n.done.Wait()
	})
	return n
}

func (n *oneName) port() int { return n.listener.Addr().(*net.TCPAddr).Port }

// lead makes new connections lead to other servers.
func (n *oneName) lead(servers ...*testenv.Server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.servers = servers
}

// by makes new connections take this way, whichever server they are to.
func (n *oneName) by(port int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.way = fmt.Sprintf("127.0.0.1:%d", port)
}

// keep remembers a connection, to close it at the end.
func (n *oneName) keep(c net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over {
		_ = c.Close()
		return false
	}
	n.open[c] = true
	return true
}

func (n *oneName) drop(c net.Conn) {
	_ = c.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, c)
}

func (n *oneName) serve(client net.Conn) {
	if !n.keep(client) {
		return
	}
	defer n.drop(client)
	n.mu.Lock()
	servers, way := n.servers, n.way
	n.mu.Unlock()
	turn := n.next.Add(1)
	for i := range servers {
		s := servers[(turn+uint64(i))%uint64(len(servers))]
		server, err := net.DialTimeout("tcp", cmp.Or(way, s.Addr()), time.Second)
		if err != nil {
			continue
		}
		if !n.keep(server) {
			return
		}
		defer n.drop(server)
		back := make(chan struct{})
		go func() {
			defer close(back)
			_, _ = io.Copy(client, server)
			_ = client.Close()
		}()
		_, _ = io.Copy(server, client)
		_ = server.Close()
		<-back
		return
	}
}

// through is a DSN that leads to a port of this machine instead of its own host's.
func through(s *testenv.Server, database string, port int) string {
	return fmt.Sprintf("%s host=127.0.0.1 port=%d", s.DSNFor(database), port)
}

// oneReplica configures a single replica that is reached at a port.
func oneReplica(s *testenv.Server, database string, port int, with string, change func(r *readsplit.Replica)) dbOption {
	return configured(func(c *readsplit.Config) {
		r := readsplit.Replica{Name: "ro", Dialector: postgres.Open(through(s, database, port) + with)}
		if change != nil {
			change(&r)
		}
		c.Replicas = []readsplit.Replica{r}
	})
}

func declared(r *readsplit.Replica) { r.Balanced = true }

// onDatabase makes a database and returns its name and the option to take it.
func onDatabase(t testing.TB, c *testenv.Cluster) (string, dbOption) {
	t.Helper()
	name := newDatabaseName(t)
	require.NoError(t, c.CreateDatabase(t.Context(), name))
	return name, inDatabase(name)
}

// pgBouncer starts PgBouncer in transaction mode in front of a port and returns its
// own; as names another role for its connections. Without prepared statements over there, as in versions before 1.21: DSNs need
// default_query_exec_mode=exec.
func pgBouncer(t testing.TB, s *testenv.Server, database string, port int, as ...string) int {
	t.Helper()
	binary, err := exec.LookPath("pgbouncer")
	if err != nil {
		binary = "/usr/sbin/pgbouncer" // not in everybody's PATH
	}
	dir, err := os.MkdirTemp("", "readsplit-pgbouncer-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	own := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	user, secret := word(s.DSN(), "user"), password(s.DSN())
	for _, dsn := range as {
		user, secret = word(dsn, "user"), password(dsn)
	}
	file := filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `[databases]
%s = host=127.0.0.1 port=%d dbname=%s user=%s password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
server_round_robin = 1
server_login_retry = 1
default_pool_size = 8
min_pool_size = 4
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
log_connections = 0
log_disconnections = 0
`, database, port, database, user, secret, own), 0o644))
	args := []string{file}
	if os.Geteuid() == 0 {
		args = append([]string{"-u", "nobody"}, args...)
	}
	cmd := exec.Command(binary, args...)
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start(), "PgBouncer is needed: scripts/deps.sh installs it")
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("PgBouncer: %.4000s", said)
		}
		_ = log.Close()
	})
	eventually(t, "PgBouncer to listen", func() bool {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", own), time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return own
}

// word is the value of a word of a DSN.
func word(dsn, name string) string {
	for _, w := range strings.Fields(dsn) {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			return v
		}
	}
	return ""
}

// ownReads lets users write and read what they wrote, n times together, and returns
// by which server the reads were served and how many missed the write.
func ownReads(t testing.TB, d *testDB, users, n int, mark func(context.Context) context.Context) (by map[string]int, missing int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	by = map[string]int{}
	for id := range users {
		ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
		reads := ctx
		if mark != nil {
			reads = mark(ctx)
		}
		all.Go(func() {
			for k := range n / users {
				if err := d.WithContext(ctx).Exec("UPDATE counters SET n = ? WHERE id = ?", k+1, id).Error; err != nil {
					t.Errorf("write: %v", err)
					return
				}
				var row struct {
					N      int
					Server string
				}
				if err := d.WithContext(reads).Table("counters").Select(readersSelect).Where("id = ?", id).Take(&row).Error; err != nil {
					t.Errorf("read: %v", err)
					return
				}
				mu.Lock()
				by[row.Server]++
				if row.N != k+1 {
					missing++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return by, missing
}

// ownReadsOn lets eight users write and read what they wrote, n times together, and again
// until a server has served a tenth of that. Nobody misses a write.
func ownReadsOn(t testing.TB, d *testDB, server string, n int) (by map[string]int) {
	t.Helper()
	by = map[string]int{}
	eventually(t, server+" to serve own reads", func() bool {
		more, missing := ownReads(t, d, 8, n, nil)
		require.Zero(t, missing)
		for name, reads := range more {
			by[name] += reads
		}
		return by[server] >= n/10 || t.Failed()
	})
	t.Logf("%v", by)
	return by
}

// spread waits until reads that run at the same time are served by all of these
// servers. Without anybody beside it a read gets the connection that was used last.
func spread(t testing.TB, d *testDB, names ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%v to serve reads", names), func() bool {
		var mu sync.Mutex
		var all sync.WaitGroup
		seen := map[string]bool{}
		for range 8 {
			all.Go(func() {
				var name string
				if d.WithContext(readsplit.Stale(context.Background())).Raw(whoSQL+" FROM (SELECT sum(i) AS s FROM generate_series(1, 100000) i) g WHERE s > 0").Scan(&name).Error == nil {
					mu.Lock()
					seen[name] = true
					mu.Unlock()
				}
			})
		}
		all.Wait()
		for _, n := range names {
			if !seen[n] {
				return false
			}
		}
		return true
	})
}
