// Package given points the conformance suite at SQL Servers that environment variables name: one
// server as a primary, its readable secondaries, and, for who may, their administration. What
// cannot be done to a real server is left unproven, in a list.
package given

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"gorm.io/driver/sqlserver"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/internal/conformance"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/testenv/tdsenv/drivertest/words"
)

// The variables. A DSN of a replica names the database and says ApplicationIntent=ReadOnly.
const (
	// EnvPrimary is the DSN of the primary, or of the listener. The login makes and drops the
	// tables conformance_% there.
	EnvPrimary = "READSPLIT_SQLSERVER_PRIMARY"
	// EnvReplicas has a line name=DSN for each readable secondary, by its own address.
	EnvReplicas = "READSPLIT_SQLSERVER_REPLICAS"
	// EnvAdminReplicas has a line name=DSN for each of them, of a login that may suspend data
	// movement, in the database master. Optional.
	EnvAdminReplicas = "READSPLIT_SQLSERVER_ADMIN_REPLICAS"
	// EnvAdminGroup is the name of the availability group, which may then be failed over to the
	// first replica, for good. Optional, and needs EnvAdminReplicas.
	EnvAdminGroup = "READSPLIT_SQLSERVER_ADMIN_GROUP"
)

const (
	marker = "dbo.conformance_marker"
	pulse  = "conformance_pulse"
)

// servers are what a bench of real servers holds open.
type servers struct {
	past     map[string]*sql.DB // by the names that the servers give themselves
	admin    map[string]*sql.DB
	order    []string
	database string
	group    string
	opened   []*sql.DB
}

// New returns a bench over the servers that the environment names, and what closes it. It makes
// the tables that the suite needs beside its own. No error has a DSN in it.
func New(ctx context.Context, getenv func(string) string) (_ conformance.Bench, closeAll func() error, err error) {
	s := &servers{past: map[string]*sql.DB{}, admin: map[string]*sql.DB{}, group: getenv(EnvAdminGroup)}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("readsplit: %w", err), s.close())
		}
	}()
	primary := strings.TrimSpace(getenv(EnvPrimary))
	replicas, err := lines(EnvReplicas, getenv(EnvReplicas))
	switch {
	case err != nil:
		return conformance.Bench{}, nil, err
	case primary == "" || len(replicas) == 0:
		return conformance.Bench{}, nil, fmt.Errorf("%s and %s are not both set: the suite runs on servers that they name; set %s to the DSN of the primary or the listener, and %s to a line name=DSN for each readable secondary (docs/conformance.md)", EnvPrimary, EnvReplicas, EnvPrimary, EnvReplicas)
	}
	admins, err := lines(EnvAdminReplicas, getenv(EnvAdminReplicas))
	if err != nil {
		return conformance.Bench{}, nil, err
	}
	first, err := s.add(ctx, "the primary", primary, "READ_WRITE")
	if err != nil {
		return conformance.Bench{}, nil, err
	}
	dsns := map[string]string{}
	for _, r := range replicas {
		name, err := s.add(ctx, "replica "+r.name, r.dsn, "READ_ONLY")
		if err != nil {
			return conformance.Bench{}, nil, err
		}
		dsns[name] = r.dsn
		for _, a := range admins {
			if a.name != r.name {
				continue
			}
			if s.admin[name], err = s.pool(a.dsn); err != nil {
				return conformance.Bench{}, nil, fmt.Errorf("%s, %s: %w", EnvAdminReplicas, a.name, err)
			}
		}
	}
	if len(admins) > 0 && len(s.admin) != len(replicas) {
		return conformance.Bench{}, nil, fmt.Errorf("%s does not name each replica of %s: use the same names", EnvAdminReplicas, EnvReplicas)
	}
	if s.group != "" && len(s.admin) == 0 {
		return conformance.Bench{}, nil, fmt.Errorf("%s is set without %s: a failover is asked for at the first replica", EnvAdminGroup, EnvAdminReplicas)
	}
	if err := s.prepare(ctx, first); err != nil {
		return conformance.Bench{}, nil, err
	}
	open := func() gorm.Dialector {
		db, err := pool(primary)
		if err != nil {
			panic(fmt.Sprintf("%v", err)) // it was opened before
		}
		return sqlserver.New(sqlserver.Config{Conn: db})
	}
	b := conformance.Bench{
		Name:    "SQL Server " + strings.Join(s.order, ", "),
		SQL:     words.SQL,
		Servers: s.order,
		Primary: open, PrimaryAsReplica: open, // a pool of one's own is judged by what answers
		Replica:  func(name string) gorm.Dialector { return sqlserver.Open(dsns[name]) },
		Past:     func(name string) *sql.DB { return s.past[name] },
		CaughtUp: s.caughtUp,
		Proofs:   []conformance.Proof{words.PositionAndWindow, words.Marker(marker)},
	}
	if len(s.admin) > 0 {
		b.Faults.Suspend = s.suspend
	}
	if s.group != "" {
		b.Faults.Failover = s.failover
	}
	return b, s.close, nil
}

// named is a line name=DSN.
type named struct{ name, dsn string }

// lines reads lines name=DSN.
func lines(variable, text string) (all []named, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, dsn, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" || dsn == "" || strings.ContainsAny(name, ":/@; ") {
			return nil, fmt.Errorf("%s, line %d: it is no name=DSN", variable, n)
		}
		if slices.ContainsFunc(all, func(other named) bool { return other.name == name }) {
			return nil, fmt.Errorf("%s, line %d: the name %s is there twice", variable, n, name)
		}
		all = append(all, named{name, strings.TrimSpace(dsn)})
	}
	return all, nil
}

// pool opens a pool as readsplit does: the connector obeys contexts.
func pool(dsn string) (*sql.DB, error) {
	connector, err := mssql.NewConnector(dsn)
	if err != nil {
		return nil, errors.New("the driver does not understand its DSN") // the driver's error may quote it
	}
	return sql.OpenDB(connector), nil
}

func (s *servers) pool(dsn string) (*sql.DB, error) {
	db, err := pool(dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(-1) // a failover ends connections
	s.opened = append(s.opened, db)
	return db, nil
}

// add asks a server for its name, and whether it is what it is said to be.
func (s *servers) add(ctx context.Context, what, dsn, updateability string) (name string, err error) {
	db, err := s.pool(dsn)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	var database, is string
	if err := db.QueryRowContext(ctx, "SELECT @@SERVERNAME, DB_NAME(), CONVERT(nvarchar(20), DATABASEPROPERTYEX(DB_NAME(), 'Updateability'))").Scan(&name, &database, &is); err != nil {
		return "", fmt.Errorf("%s does not answer: %w", what, err)
	}
	switch {
	case is != updateability:
		return "", fmt.Errorf("%s (%s) is %s, and must be %s: is its address right, does a replica's DSN say ApplicationIntent=ReadOnly?", what, name, is, updateability)
	case s.past[name] != nil:
		return "", fmt.Errorf("%s is %s, which another DSN leads to already: name each secondary by its own address", what, name)
	case s.database != "" && database != s.database:
		return "", fmt.Errorf("%s: its DSN leads to the database %s, and the primary's to %s", what, database, s.database)
	}
	s.past[name], s.database = db, database
	s.order = append(s.order, name)
	return name, nil
}

// prepare makes the marker table and the one that tells what replicas show.
func (s *servers) prepare(ctx context.Context, primary string) error {
	for _, statement := range []string{
		"DROP TABLE IF EXISTS " + marker, lsn.SQLServerMarkerTable(marker),
		"DROP TABLE IF EXISTS " + pulse, "CREATE TABLE " + pulse + " (id int PRIMARY KEY, n bigint NOT NULL)", "INSERT INTO " + pulse + " VALUES (1, 0)",
	} {
		if _, err := s.past[primary].ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("prepare the primary: %w", err)
		}
	}
	return s.caughtUp(ctx)
}

// caughtUp writes, and waits until every replica shows it.
func (s *servers) caughtUp(ctx context.Context) error {
	var n int64
	if err := s.past[s.order[0]].QueryRowContext(ctx, "UPDATE "+pulse+" SET n = n + 1 OUTPUT INSERTED.n WHERE id = 1").Scan(&n); err != nil {
		return fmt.Errorf("ask what replicas show: %w", err)
	}
	for _, name := range s.order[1:] {
		if err := poll(ctx, func() bool {
			var shown int64
			return s.past[name].QueryRowContext(ctx, "SELECT n FROM "+pulse+" WHERE id = 1").Scan(&shown) == nil && shown >= n
		}); err != nil {
			return fmt.Errorf("%s does not catch up: %w", name, err)
		}
	}
	return nil
}

func poll(ctx context.Context, done func() bool) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func quoted(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }

func (s *servers) suspend(ctx context.Context, replica string) (conformance.Undo, error) {
	set := func(ctx context.Context, what string) error {
		_, err := s.admin[replica].ExecContext(ctx, "ALTER DATABASE "+quoted(s.database)+" SET HADR "+what)
		return err
	}
	if err := set(ctx, "SUSPEND"); err != nil {
		return nil, err
	}
	over := false
	return func() error {
		if over {
			return nil
		}
		over = true
		resume, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return set(resume, "RESUME")
	}, nil
}

func (s *servers) failover(ctx context.Context) error {
	next := s.order[1]
	if _, err := s.admin[next].ExecContext(ctx, "ALTER AVAILABILITY GROUP "+quoted(s.group)+" FAILOVER"); err != nil {
		return err
	}
	return poll(ctx, func() bool {
		var is string
		return s.past[next].QueryRowContext(ctx, "SELECT CONVERT(nvarchar(20), DATABASEPROPERTYEX(DB_NAME(), 'Updateability'))").Scan(&is) == nil && is == "READ_WRITE"
	})
}

// close drops what was made, where it can still be, and closes the pools.
func (s *servers) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	if len(s.order) > 0 && s.group == "" { // after a failover it is another server's
		for _, table := range []string{marker, pulse, "conformance_books", "conformance_authors"} {
			_, err := s.past[s.order[0]].ExecContext(ctx, "DROP TABLE IF EXISTS "+table)
			errs = append(errs, err)
		}
	}
	for _, db := range s.opened {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}
