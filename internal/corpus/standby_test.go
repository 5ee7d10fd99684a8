package corpus

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv"
)

// started is the one cluster of this package's tests.
var started struct {
	once    sync.Once
	cluster *testenv.Cluster
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if c := started.cluster; c != nil {
		if err := c.Close(context.Background()); err != nil && code == 0 {
			code = 1
		}
	}
	os.Exit(code)
}

// cluster starts a primary with the schemas of testdata and a standby of it.
func cluster(t testing.TB) *testenv.Cluster {
	t.Helper()
	started.once.Do(func() {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		started.cluster, started.err = testenv.New(ctx, testenv.Config{Replicas: 1, Version: os.Getenv("READSPLIT_PG")})
		if started.err != nil {
			return
		}
		if started.err = createSchemas(ctx, started.cluster); started.err == nil {
			started.err = started.cluster.WaitCaughtUp(ctx)
		}
	})
	require.NoError(t, started.err)
	return started.cluster
}

func createSchemas(ctx context.Context, c *testenv.Cluster) error {
	files, err := filepath.Glob(filepath.Join("testdata", "schema", "*.sql"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		schema := strings.TrimSuffix(filepath.Base(file), ".sql")
		conn, err := pgconn.Connect(ctx, c.Primary().DSN())
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, "CREATE SCHEMA "+schema+"; SET search_path TO "+schema+";\n"+string(text)).ReadAll()
		if err = errors.Join(err, conn.Close(ctx)); err != nil {
			return errors.Join(errors.New(file), err)
		}
	}
	return nil
}

// connect opens a connection that no statement has touched.
func connect(t testing.TB, server *testenv.Server, origin string) *pgconn.PgConn {
	t.Helper()
	cfg, err := pgconn.ParseConfig(server.DSN())
	require.NoError(t, err)
	cfg.RuntimeParams["search_path"] = schemaOf(origin)
	cfg.RuntimeParams["statement_timeout"] = "2s"
	cfg.RuntimeParams["lock_timeout"] = "1s"
	cfg.RuntimeParams["client_min_messages"] = "error"
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	require.NoError(t, err)
	return conn
}

func schemaOf(origin string) string {
	if _, err := os.Stat(filepath.Join("testdata", "schema", origin+".sql")); err == nil {
		return origin
	}
	return "shop"
}

func disconnect(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = conn.Close(ctx) // a connection that the statement broke is gone anyway
}

// run sends a text as an application would: prepared with sample values where it
// has parameters, else as it stands. It returns the SQLSTATE, "" for success.
func run(t testing.TB, conn *pgconn.PgConn, sql string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if !strings.Contains(sql, "$1") || strings.Contains(sql, "$1$") {
		_, err := conn.Exec(ctx, sql).ReadAll()
		return sqlstate(err)
	}
	prepared, err := conn.Prepare(ctx, "", sql, nil)
	if err != nil {
		return sqlstate(err)
	}
	values := make([][]byte, len(prepared.ParamOIDs))
	for i, oid := range prepared.ParamOIDs {
		values[i] = sample(oid)
	}
	return sqlstate(conn.ExecPrepared(ctx, "", values, nil, nil).Read().Err)
}

// sqlstate is the code of a server's error; any other error is its text.
func sqlstate(err error) string {
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refused):
		return refused.Code
	}
	return err.Error()
}

// sample is a value in text format for a parameter of a type, by its OID.
func sample(oid uint32) []byte {
	switch oid {
	case 16: // bool
		return []byte("true")
	case 20, 21, 23, 26, 700, 701, 1700: // numbers
		return []byte("1")
	case 1082, 1114, 1184: // dates
		return []byte("2024-01-15")
	case 1186:
		return []byte("1 day")
	case 2950:
		return []byte("11111111-1111-1111-1111-111111111111")
	case 114, 3802:
		return []byte("{}")
	case 1005, 1007, 1009, 1015, 1016, 1231, 2951:
		return []byte("{}")
	case 18, 19, 25, 1042, 1043:
		return []byte("a")
	}
	return nil
}

// refusedForAnotherReason runs a refused statement on the primary, in a transaction
// that is rolled back. What the primary refuses in the same way, for instance as a
// feature that it does not have (0A000), says nothing about standbys.
func refusedForAnotherReason(t testing.TB, a *asker, sql string) bool {
	t.Helper()
	conn := connect(t, cluster(t).Primary(), a.origin)
	defer disconnect(conn)
	if a.escapes {
		require.Empty(t, run(t, conn, "SET standard_conforming_strings = off"))
	}
	require.Empty(t, run(t, conn, "BEGIN"))
	return run(t, conn, sql) != ""
}
