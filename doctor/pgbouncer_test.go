package doctor_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv"
)

// pgbouncer starts one in front of a server and returns a DSN through it. Several try
// for a free port: somebody else may take it before PgBouncer does.
func pgbouncer(t *testing.T, s *testenv.Server, mode string) string {
	t.Helper()
	program := ""
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin") {
		if _, err := os.Stat(filepath.Join(dir, "pgbouncer")); err == nil {
			program = filepath.Join(dir, "pgbouncer")
			break
		}
	}
	require.NotEmpty(t, program, "there is no pgbouncer: make deps installs it")
	var output string
	for range 5 {
		dsn, printed, ok := startPgbouncer(t, program, s, mode)
		if ok {
			return dsn
		}
		output = printed
	}
	t.Fatalf("pgbouncer did not start: %s", output)
	return ""
}

func startPgbouncer(t *testing.T, program string, s *testenv.Server, mode string) (dsn, output string, ok bool) {
	t.Helper()
	dir, err := os.MkdirTemp("", "readsplit-pgbouncer-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755)) // PgBouncer refuses to be root, and becomes somebody else
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	require.NoError(t, listener.Close())
	ini := fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d user=postgres password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = %s
server_tls_sslmode = disable
`, s.Port(), passwordOf(s), port, mode)
	if os.Geteuid() == 0 {
		ini += "user = nobody\n"
	}
	file := filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(file, []byte(ini), 0o644))

	var printed bytes.Buffer
	cmd := exec.Command(program, file)
	cmd.Stdout, cmd.Stderr = &printed, &printed
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it ends by a signal
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	})
	dsn = at(s.DSN(), port)
	db, err := sql.Open("pgx", dsn+" default_query_exec_mode=simple_protocol")
	require.NoError(t, err)
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var cluster string
		if err := db.QueryRowContext(ctx, "SHOW cluster_name").Scan(&cluster); err == nil && cluster == s.Name() {
			return dsn, "", true
		}
		select {
		case <-ended:
			return "", printed.String(), false
		case <-ctx.Done():
			_ = cmd.Process.Kill()
			<-ended
			return "", printed.String(), false
		case <-tick.C:
		}
	}
}
