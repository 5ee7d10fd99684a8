package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// hostsOf returns one configuration for each host of a DSN, without
// target_session_attrs: a host's role is asked, and one that refuses connections in
// its present role could not be.
func hostsOf(cfg *pgx.ConnConfig) []*pgx.ConnConfig {
	type host struct {
		name string
		port uint16
	}
	var hosts []host
	ways := map[host][]*pgconn.FallbackConfig{}
	for _, w := range append([]*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port, TLSConfig: cfg.TLSConfig}}, cfg.Fallbacks...) {
		h := host{w.Host, w.Port}
		if ways[h] == nil {
			hosts = append(hosts, h)
		}
		ways[h] = append(ways[h], w)
	}
	var all []*pgx.ConnConfig
	for _, h := range hosts {
		one := cfg.Copy()
		one.Host, one.Port, one.TLSConfig = h.name, h.port, ways[h][0].TLSConfig
		one.Fallbacks = ways[h][1:]
		one.ValidateConnect = nil
		all = append(all, one)
	}
	return all
}

func addressOf(cfg *pgx.ConnConfig) string {
	if strings.HasPrefix(cfg.Host, "/") {
		return cfg.Host + ":" + strconv.Itoa(int(cfg.Port))
	}
	return net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))
}

// applicationName is what the doctor calls itself where the DSN has no name.
const applicationName = "readsplit doctor"

// dial opens a connection. It sends what the application's connections would send,
// but for its own name, so that what a pooler refuses shows here too.
func dial(ctx context.Context, cfg *pgx.ConnConfig, timeout time.Duration) (*pgconn.PgConn, error) {
	c := cfg.Config.Copy()
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = applicationName
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := pgconn.ConnectConfig(ctx, c)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within %v", timeout)
		}
		return nil, err
	}
	return conn, nil
}

// hangUp closes a connection without waiting for a server that is frozen.
func hangUp(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // what it fails with is of no use to anybody
}

// ask sends one text of statements, without preparing any, and returns the last
// value of the last row that one of them returned; empty for NULL and for no row.
func ask(ctx context.Context, conn *pgconn.PgConn, timeout time.Duration, query string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	results, err := conn.Exec(ctx, query).ReadAll()
	if err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("no answer within %v", timeout)
		}
		if !conn.IsClosed() && conn.TxStatus() != 'I' {
			_, _ = conn.Exec(ctx, "ROLLBACK").ReadAll() // else the next question fails, which says so
		}
		return "", err
	}
	var answer string
	for _, r := range results {
		for _, row := range r.Rows {
			answer = string(row[len(row)-1])
		}
	}
	return answer, nil
}

// reason is why something failed, in the words of the server or of the system,
// without what wraps it.
func reason(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return fmt.Sprintf("%s (SQLSTATE %s)", pg.Message, pg.Code)
	}
	for {
		var inner error
		switch e := err.(type) { //nolint:errorlint // looks into it
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 0 {
				inner = all[0]
			}
		default:
			inner = errors.Unwrap(err)
		}
		if inner == nil {
			break
		}
		err = inner
	}
	return err.Error()
}

// sqlstate is the server's code, empty where no server spoke.
func sqlstate(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}
