package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// driverName is that of SQL Server's driver for database/sql. The doctor imports none, so
// that whoever examines PostgreSQL from a program compiles no other driver.
const driverName = "sqlserver"

func hasDriver() bool { return slices.Contains(sql.Drivers(), driverName) }

var errNoAnswer = errors.New("no answer")

// openSQLServer makes a pool that keeps nothing. The driver does not look at a context
// between the dial and the end of a login: its own time-out must end a login at a server
// that is frozen.
func openSQLServer(dsn string, timeout time.Duration) (*sql.DB, error) {
	seconds := strconv.Itoa(int((timeout + time.Second - 1) / time.Second))
	dsn = withKey(withKey(dsn, "connection timeout", seconds), "connect timeout", "")
	if !hasKey(dsn, "app name") && !hasKey(dsn, "application name") {
		dsn = withKey(dsn, "app name", applicationName)
	}
	db, err := sql.Open(driverName, dsn)
	if err != nil {
		return nil, errMisread // the driver's words may quote a password
	}
	db.SetMaxIdleConns(0)
	return db, nil
}

func hasKey(dsn, key string) bool {
	p, _ := sqlPairs(dsn)
	_, ok := p[key]
	return ok
}

// withKey returns a connection string in which a key has this value; without it where
// that is empty and the form is a URL. In the other forms the last of two values counts.
func withKey(dsn, key, value string) string {
	if u, err := url.Parse(dsn); err == nil && u.Scheme == driverName {
		q := u.Query()
		for k := range q {
			if strings.EqualFold(k, key) {
				q.Del(k)
			}
		}
		if value != "" {
			q.Set(key, value)
		}
		u.RawQuery = q.Encode()
		return u.String()
	}
	if value == "" {
		return dsn
	}
	return strings.TrimRight(dsn, "; \t") + ";" + key + "=" + value
}

// urlPassword is the password of a URL; empty in other forms.
func urlPassword(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil || u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	return password
}

// dial opens a connection. A listener that routes to itself is followed by the driver
// until the deadline.
func (f *sqlFacts) dial(ctx context.Context) (*sql.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	conn, err := f.db.Conn(ctx)
	if err != nil {
		return nil, f.late(ctx, err)
	}
	return conn, nil
}

// late says of an error that there was no answer in time.
func (f *sqlFacts) late(ctx context.Context, err error) error {
	var timeout interface{ Timeout() bool }
	if ctx.Err() != nil || sqlNumber(err) == 0 && errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("%w within %v", errNoAnswer, f.timeout)
	}
	return err
}

// again opens another connection, and says who answered.
func (f *sqlFacts) again(ctx context.Context) (string, error) {
	conn, err := f.dial(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	var server string
	err = conn.QueryRowContext(ctx, "SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ServerName'))").Scan(&server)
	return server, err
}

// rows calls each for every row of an answer.
func (f *sqlFacts) rows(ctx context.Context, query string, each func(*sql.Rows) error) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	rows, err := f.conn.QueryContext(ctx, query)
	if err != nil {
		return f.late(ctx, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return f.late(ctx, err)
	}
	return nil
}

// row reads the first row; sql.ErrNoRows where there is none.
func (f *sqlFacts) row(ctx context.Context, query string, into ...any) error {
	found := false
	err := f.rows(ctx, query, func(rows *sql.Rows) error {
		if found {
			return nil
		}
		found = true
		return rows.Scan(into...)
	})
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return err
}

func (f *sqlFacts) text(ctx context.Context, query string) (text string, err error) {
	err = f.row(ctx, query, &text)
	return text, err
}

func (f *sqlFacts) close() {
	for _, x := range []*sqlFacts{f, f.without} {
		if x == nil {
			continue
		}
		if x.conn != nil {
			_ = x.conn.Close()
		}
		if x.db != nil {
			_ = x.db.Close()
		}
	}
}

// clean is what an error says, in one line and without secrets.
func (f *sqlFacts) clean(err error) string {
	text := err.Error()
	if n := sqlNumber(err); n != 0 {
		text = fmt.Sprintf("%s (error %d)", strings.TrimRight(strings.TrimPrefix(text, "mssql: "), "."), n)
	}
	return redacted(text, f.secrets()...)
}

// sqlNumber is the number of a server's error, 0 where no server spoke.
func sqlNumber(err error) int32 {
	var server interface{ SQLErrorNumber() int32 }
	if errors.As(err, &server) {
		return server.SQLErrorNumber()
	}
	return 0
}
