package conformance_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/internal/conformance"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/testenv"
)

// Everything is proven on PostgreSQL: nothing is left out.
func TestPostgreSQL(t *testing.T) {
	require.Empty(t, conformance.Run(t, newPostgres(t)))
}

// postgreSQL fills a bench with the servers of a cluster.
type postgreSQL struct {
	cluster *testenv.Cluster
	log     *serverLog
	past    map[string]*sql.DB
	turns   atomic.Int64
}

const (
	database = "conformance"
	mine     = "conformance" // application_name of the suite's plugins
)

// failing is what lets a replica fail on command: a STABLE function, which may run there.
const failing = `
CREATE FUNCTION conformance_fails(code text, at int) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
	IF pg_is_in_recovery() AND at >= 300 THEN
		IF code = '25006' THEN PERFORM nextval('conformance_numbers'); END IF;
		RAISE EXCEPTION 'injected' USING ERRCODE = code;
	END IF;
	RETURN true;
END $$;
CREATE SEQUENCE conformance_numbers;
CREATE FUNCTION conformance_gone() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(10); RETURN NULL; END';
CREATE FUNCTION conformance_writes() RETURNS text LANGUAGE plpgsql AS $$
BEGIN PERFORM nextval('conformance_numbers'); RETURN current_setting('cluster_name'); END $$`

func newPostgres(t *testing.T) conformance.Bench {
	log := &serverLog{}
	c := testenv.Start(t, testenv.Setting("log_statement", "all"), testenv.Setting("deadlock_timeout", "50ms"), testenv.LogTo(log))
	require.NoError(t, c.CreateDatabase(t.Context(), database))
	p := &postgreSQL{cluster: c, log: log, past: map[string]*sql.DB{}}
	b := conformance.Bench{
		Name:             "PostgreSQL " + c.Version(),
		SQL:              postgreSQLWords,
		Primary:          func() gorm.Dialector { return postgres.Open(p.dsn(c.Primary())) },
		Replica:          func(name string) gorm.Dialector { return postgres.Open(p.dsn(c.Server(name))) },
		PrimaryAsReplica: func() gorm.Dialector { return postgres.Open(p.dsn(c.Primary())) },
		Past:             func(name string) *sql.DB { return p.past[name] },
		CaughtUp:         c.WaitCaughtUp,
		Follow:           func(cfg *readsplit.Config) { cfg.FollowPrimary = true },
		Proofs:           []conformance.Proof{{Name: "position", Position: true}},
		Faults: conformance.Faults{
			Pause: func(ctx context.Context, name string) (conformance.Undo, error) {
				return undo(c.Server(name).PauseReplay(ctx))
			},
			Suspend: func(ctx context.Context, name string) (conformance.Undo, error) { return undo(c.Server(name).Cut(ctx)) },
			Kill: func(ctx context.Context, name string) (conformance.Undo, error) {
				return undo(c.Server(name).Kill(ctx))
			},
			Sever: p.sever, Fail: p.fail, LoseCommit: p.loseCommit, Watch: p.watch, Failover: p.failover,
		},
	}
	for _, s := range c.Servers() {
		b.Servers = append(b.Servers, s.Name())
		db, err := sql.Open("pgx", s.DSNFor(database)+" application_name=past")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		p.past[s.Name()] = db
	}
	_, err := p.past["primary"].ExecContext(t.Context(), failing)
	require.NoError(t, err)
	return b
}

func undo(u testenv.Undo, err error) (conformance.Undo, error) { return u, err }

func (p *postgreSQL) dsn(s *testenv.Server) string {
	return s.DSNFor(database) + " application_name=" + mine
}

func (p *postgreSQL) sever(ctx context.Context, name string) error {
	_, err := p.past[name].ExecContext(ctx, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = $1", mine)
	return err
}

// fail makes each text another one: a statement that replay keeps cancelling stays away.
func (p *postgreSQL) fail(_ context.Context, code string, late bool) (string, conformance.Undo, error) {
	first := 300
	if late {
		first = 1
	}
	read := fmt.Sprintf("SELECT current_setting('cluster_name') AS server, repeat('x', 100) AS filler FROM generate_series(%d, 300) i WHERE conformance_fails('%s', i) AND %d > 0",
		first, code, p.turns.Add(1))
	return read, func() error { return nil }, nil
}

// loseCommit ends the connection in its COMMIT. Nobody can tell that from one that ended a
// moment later.
func (p *postgreSQL) loseCommit(ctx context.Context) (string, conformance.Undo, error) {
	past := p.past["primary"]
	_, err := past.ExecContext(ctx, `CREATE CONSTRAINT TRIGGER conformance_lost AFTER INSERT ON conformance_books DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW WHEN (NEW.title = 'lost') EXECUTE FUNCTION conformance_gone()`)
	return "INSERT INTO conformance_books (title, copies, author_id) VALUES ('lost', 3, 1)", func() error {
		_, err := past.ExecContext(context.WithoutCancel(ctx), "DROP TRIGGER conformance_lost ON conformance_books")
		return err
	}, err
}

// failover stops the primary as an administrator does who loses nothing.
func (p *postgreSQL) failover(ctx context.Context) error {
	c := p.cluster
	_, err := c.Primary().Stop(ctx)
	if err != nil {
		return err
	}
	if _, err = c.Replica(0).Promote(ctx); err != nil {
		return err
	}
	_, err = c.Replica(1).Follow(ctx, c.Replica(0))
	return err
}

// watch reads the servers' logs from here on.
func (p *postgreSQL) watch(ctx context.Context) (func() (map[string][]string, error), error) {
	if err := p.flush(ctx); err != nil {
		return nil, err
	}
	from := p.log.length()
	return func() (map[string][]string, error) {
		if err := p.flush(context.WithoutCancel(ctx)); err != nil {
			return nil, err
		}
		return p.log.statements(from), nil
	}, nil
}

// flush waits until the logs of the servers have come here so far.
func (p *postgreSQL) flush(ctx context.Context) error {
	mark, from := fmt.Sprintf("mark %d", p.turns.Add(1)), p.log.length()
	for name, db := range p.past {
		if _, err := db.ExecContext(ctx, "SELECT '"+mark+"'"); err != nil {
			return err
		}
		deadline := time.After(time.Minute)
		for tick := time.NewTicker(time.Millisecond); !p.log.has(name, mark, from); {
			select {
			case <-tick.C:
			case <-deadline:
				return errors.New("the log of " + name + " does not come")
			}
		}
	}
	return nil
}

// serverLog is what the servers log.
type serverLog struct {
	mu    sync.Mutex
	lines []string
}

// Write implements io.Writer.
func (l *serverLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(bytes.TrimSpace(line)))
	return len(line), nil
}

func (l *serverLog) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines)
}

func (l *serverLog) has(server, text string, from int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.lines[from:], func(line string) bool {
		return strings.HasPrefix(line, server+": ") && strings.Contains(line, text)
	})
}

// statements are those in the database of the suite, by server; lines that follow the first
// belong to it.
func (l *serverLog) statements(from int) map[string][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string][]string{}
	open := map[string]bool{}
	for _, line := range l.lines[from:] {
		server, text, _ := strings.Cut(line, ": ")
		if !strings.Contains(text, "LOG:  ") {
			if n := len(all[server]); open[server] && n > 0 && !strings.Contains(text, "] ") {
				all[server][n-1] += "\n" + text
			}
			continue
		}
		open[server] = false
		_, said, _ := strings.Cut(text, "LOG:  ")
		kind, statement, _ := strings.Cut(said, ": ")
		if kind == "statement" || strings.HasPrefix(kind, "execute ") {
			open[server] = true
			all[server] = append(all[server], statement)
		}
	}
	return all
}

var postgreSQLWords = conformance.SQL{
	Who:    "current_setting('cluster_name')",
	Slow:   "SELECT current_setting('cluster_name') FROM pg_sleep(0.2)",
	Insert: "INSERT INTO conformance_books (title, copies, author_id) VALUES (?, 3, ?) RETURNING id",
	Lock:   func(db *gorm.DB) *gorm.DB { return db.Clauses(clause.Locking{Strength: "UPDATE"}) },
	Statements: []conformance.Statement{
		{Text: "SELECT title FROM conformance_books"},
		{Text: "-- a comment\nSELECT title FROM conformance_books WHERE title <> 'FOR UPDATE; DELETE FROM conformance_books'"},
		{Text: "WITH b AS (SELECT title FROM conformance_books) SELECT title FROM b"},
		{Text: "(SELECT title FROM conformance_books) UNION ALL (SELECT title FROM conformance_books WHERE false)"},
		{Text: `SELECT coalesce(max(title), '') FROM "conformance_books"`},
		{Text: "TABLE conformance_authors"},
		{Text: "VALUES (1)"},
		{Text: "EXPLAIN SELECT 1"},
		{Text: "SELECT title FROM conformance_books FOR UPDATE", Reason: policy.ReasonLockingRead},
		{Text: "SELECT title FROM conformance_books FOR NO KEY UPDATE SKIP LOCKED", Reason: policy.ReasonLockingRead},
		{Text: "SELECT nextval('conformance_numbers')", Reason: policy.ReasonWrite},
		{Text: "SELECT conformance_writes()", Reason: policy.ReasonUnknownStatement},
		{Text: "SELECT pg_advisory_xact_lock(1)::text", Reason: policy.ReasonUnknownStatement},
		{Text: "WITH gone AS (DELETE FROM conformance_books WHERE false RETURNING title) SELECT title FROM gone", Reason: policy.ReasonWrite},
		{Text: "INSERT INTO conformance_books (title, copies, author_id) VALUES ('returned', 3, 0) RETURNING title", Reason: policy.ReasonWrite},
		{Text: "UPDATE conformance_books SET copies = 4 WHERE title = 'returned' RETURNING title", Reason: policy.ReasonWrite},
		{Text: "DELETE FROM conformance_books WHERE title = 'returned' RETURNING title", Reason: policy.ReasonWrite},
		{Text: "EXPLAIN ANALYZE DELETE FROM conformance_books WHERE false", Reason: policy.ReasonWrite},
	},
	Errors: codes(map[retry.Action]string{
		retry.Elsewhere: "40001 40P01 55P03 53200 58030 XX001 57P01 57P03 08006 28000",
		retry.Primary:   "42P01 42703 42883 25006 3D000",
		retry.Surface:   "22012 57014 42501 23505",
	}),
	RefusedWrite: "25006", Deadlock: "40P01", Duplicate: "23505",
	Code: func(err error) string {
		var e interface{ SQLState() string }
		if errors.As(err, &e) {
			return e.SQLState()
		}
		return ""
	},
}

func codes(by map[retry.Action]string) (all []conformance.Error) {
	for action := range maps.Keys(by) {
		for _, code := range strings.Fields(by[action]) {
			all = append(all, conformance.Error{Code: code, Action: action})
		}
	}
	return all
}
