package drivertest

import (
	"database/sql"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv/tdsenv"
)

// group starts a group whose database has a table of one column.
func group(t *testing.T, cfg tdsenv.Config) *tdsenv.Cluster {
	t.Helper()
	c := tdsenv.Start(t, cfg)
	must(t, pool(t, c.Primary().DSN()), "CREATE TABLE orders (id int PRIMARY KEY)")
	if c.Primary() != c.Servers()[len(c.Servers())-1] {
		require.NoError(t, c.WaitCaughtUp(limit(t)))
	}
	return c
}

func must(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	_, err := db.ExecContext(limit(t), query, args...)
	require.NoError(t, err)
}

func one[T any](t *testing.T, db *sql.DB, query string, args ...any) T {
	t.Helper()
	var v T
	require.NoError(t, db.QueryRowContext(limit(t), query, args...).Scan(&v), query)
	return v
}

func orders(t *testing.T, db *sql.DB) int {
	t.Helper()
	return one[int](t, db, "SELECT count(*) FROM orders")
}

// state is a server's own row of the view, as readsplit asks for it.
type state struct {
	commit, hardened, redone *big.Int
	group                    string
	primary, suspended       bool
	sync, database           int
	lag                      sql.NullInt64
}

func ownState(t *testing.T, db *sql.DB) state {
	t.Helper()
	var s state
	var commit, hardened string
	var redone sql.NullString
	require.NoError(t, db.QueryRowContext(limit(t), `SELECT CONVERT(varchar(30), last_commit_lsn), CONVERT(varchar(30), last_hardened_lsn), CONVERT(varchar(30), last_redone_lsn),
		CONVERT(varchar(36), group_database_id), is_primary_replica, is_suspended, synchronization_state, database_state, secondary_lag_seconds
		FROM sys.dm_hadr_database_replica_states WHERE database_id = DB_ID() AND is_local = 1`).
		Scan(&commit, &hardened, &redone, &s.group, &s.primary, &s.suspended, &s.sync, &s.database, &s.lag))
	parse := func(text string) *big.Int {
		n, ok := new(big.Int).SetString(text, 10)
		require.True(t, ok, text)
		return n
	}
	s.commit, s.hardened = parse(commit), parse(hardened)
	if redone.Valid {
		s.redone = parse(redone.String)
	}
	return s
}

// The pair of columns that readsplit compares is right, and the others prove nothing.
func TestPausedRedo(t *testing.T) {
	c := group(t, tdsenv.Config{})
	primary, replica := pool(t, c.Primary().DSN()), pool(t, c.Replica(0).ReadOnlyDSN())
	undo, err := c.Replica(0).PauseRedo(t.Context())
	require.NoError(t, err)
	must(t, primary, "INSERT INTO orders VALUES (1)")
	token := ownState(t, primary)
	require.True(t, token.primary)
	require.Nil(t, token.redone)

	s := ownState(t, replica)
	require.Equal(t, 0, orders(t, replica))
	require.Equal(t, -1, s.commit.Cmp(token.commit))
	require.Equal(t, token.group, s.group)
	require.False(t, s.primary)
	require.Equal(t, 1, s.hardened.Cmp(token.commit), "hardened is not redone")
	require.Equal(t, 2, s.sync, "SYNCHRONIZED is not redone")
	require.EqualValues(t, 0, s.lag.Int64, "the lag is that of hardening")

	require.NoError(t, undo())
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	require.Equal(t, 1, orders(t, replica))
	require.Equal(t, 0, ownState(t, replica).commit.Cmp(token.commit))
}

func TestSuspended(t *testing.T) {
	c := group(t, tdsenv.Config{})
	primary, replica := pool(t, c.Primary().DSN()), pool(t, c.Replica(0).ReadOnlyDSN())
	undo, err := c.Replica(0).Suspend(t.Context())
	require.NoError(t, err)
	must(t, primary, "INSERT INTO orders VALUES (1)")
	require.ErrorContains(t, c.WaitCaughtUp(limit(t)), "SQL2 cannot catch up: data movement suspended")
	s := ownState(t, replica)
	require.Equal(t, 0, orders(t, replica))
	require.True(t, s.suspended)
	require.Equal(t, 0, s.sync)
	require.EqualValues(t, 0, s.lag.Int64, "0 while suspended")
	rows := one[int](t, primary, "SELECT count(*) FROM sys.dm_hadr_database_replica_states WHERE is_local = 0 AND is_suspended = 1 AND database_state IS NULL")
	require.Equal(t, 1, rows, "the primary sees every replica")
	require.NoError(t, undo())
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	require.Equal(t, 1, orders(t, replica))
}

func TestDelayCutHideAndHold(t *testing.T) {
	c := group(t, tdsenv.Config{})
	primary, replica := pool(t, c.Primary().DSN()), pool(t, c.Replica(0).ReadOnlyDSN())
	id := 0
	write := func() *big.Int {
		id++
		must(t, primary, "INSERT INTO orders VALUES (@p1)", id)
		return ownState(t, primary).commit
	}
	faults := map[string]func() (tdsenv.Undo, error){
		"delay": func() (tdsenv.Undo, error) { return c.Replica(0).Delay(t.Context(), time.Hour) },
		"cut":   func() (tdsenv.Undo, error) { return c.Replica(0).Cut(t.Context()) },
		"hide":  func() (tdsenv.Undo, error) { return c.Replica(0).HideCommits(t.Context()) },
	}
	for name, fault := range faults {
		before := orders(t, replica)
		undo, err := fault()
		require.NoError(t, err, name)
		token := write()
		if name == "hide" { // counted, and not shown
			require.Eventually(t, func() bool { return ownState(t, replica).commit.Cmp(token) == 0 }, limitFor, tick)
		} else {
			require.Equal(t, -1, ownState(t, replica).commit.Cmp(token), name)
		}
		require.Equal(t, before, orders(t, replica), name)
		require.NoError(t, undo())
		require.NoError(t, c.WaitCaughtUp(limit(t)))
		require.Equal(t, before+1, orders(t, replica), name)
	}
	undo, err := c.Primary().HoldView(t.Context())
	require.NoError(t, err)
	old := ownState(t, primary).commit
	require.Equal(t, 0, old.Cmp(write()), "out of date: a token from it would be too small")
	require.NoError(t, undo())
	require.Equal(t, -1, old.Cmp(ownState(t, primary).commit))
}

func TestSecondaryRefusesWrites(t *testing.T) {
	c := group(t, tdsenv.Config{Nodes: 2})
	replica := pool(t, c.Replica(0).DSN())
	_, err := replica.ExecContext(limit(t), "INSERT INTO orders VALUES (1)")
	require.EqualValues(t, 3906, number(t, err))
	require.Equal(t, "READ_ONLY", one[string](t, replica, "SELECT DATABASEPROPERTYEX(DB_NAME(), 'Updateability')"))
	require.False(t, one[bool](t, replica, "SELECT sys.fn_hadr_is_primary_replica(DB_NAME())"))
	primary := pool(t, c.Primary().DSN())
	require.Equal(t, "READ_WRITE", one[string](t, primary, "SELECT DATABASEPROPERTYEX(DB_NAME(), 'Updateability')"))
	require.True(t, one[bool](t, primary, "SELECT sys.fn_hadr_is_primary_replica(DB_NAME())"))

	// A transaction there is a snapshot.
	tx, err := replica.BeginTx(limit(t), nil)
	require.NoError(t, err)
	var n int
	require.NoError(t, tx.QueryRowContext(limit(t), "SELECT count(*) FROM orders").Scan(&n))
	must(t, primary, "INSERT INTO orders VALUES (1)")
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	require.NoError(t, tx.QueryRowContext(limit(t), "SELECT count(*) FROM orders").Scan(&n))
	require.Equal(t, 0, n)
	require.NoError(t, tx.Commit())
	require.Equal(t, 1, orders(t, replica))
}

func TestAccessAndPermissions(t *testing.T) {
	c := group(t, tdsenv.Config{Nodes: 2})
	replica := c.Replica(0)
	open := pool(t, replica.DSN())
	require.Equal(t, 0, orders(t, open))
	undo, err := replica.Allow(t.Context(), tdsenv.AllowReadOnly)
	require.NoError(t, err)
	_, err = open.ExecContext(limit(t), "SELECT * FROM orders")
	require.EqualValues(t, 978, number(t, err), "a session that is open")
	require.EqualValues(t, 978, number(t, pool(t, replica.DSN()).PingContext(limit(t))))
	require.NoError(t, pool(t, replica.ReadOnlyDSN()).PingContext(limit(t)))
	require.NoError(t, undo())
	undo, err = replica.Allow(t.Context(), tdsenv.AllowNone)
	require.NoError(t, err)
	require.EqualValues(t, 976, number(t, pool(t, replica.ReadOnlyDSN()).PingContext(limit(t))))
	require.NoError(t, undo())

	_, err = replica.DenyView(t.Context())
	require.NoError(t, err)
	_, err = open.ExecContext(limit(t), "SELECT * FROM sys.dm_hadr_database_replica_states")
	require.EqualValues(t, 297, number(t, err))
	require.ErrorContains(t, err, "(300)")
	require.Equal(t, "READ_ONLY", one[string](t, open, "SELECT DATABASEPROPERTYEX(DB_NAME(), 'Updateability')"), "needs no permission")
	require.NoError(t, c.UndoAll())
	require.Empty(t, replica.Faults())

	require.EqualValues(t, 4060, number(t, pool(t, replica.DSNFor("nothing")).PingContext(limit(t))))
	require.Equal(t, "master", one[string](t, pool(t, replica.DSNFor("")), "SELECT DB_NAME()"))
}

func TestNoGroup(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2, NoGroup: true, EngineEdition: 5})
	db := pool(t, c.Servers()[1].ReadOnlyDSN())
	must(t, db, "CREATE TABLE orders (id int PRIMARY KEY)") // the intent is a request, no more
	require.Equal(t, 0, one[int](t, db, "SELECT count(*) FROM sys.dm_hadr_database_replica_states"))
	require.Nil(t, one[any](t, db, "SELECT sys.fn_hadr_is_primary_replica(DB_NAME())"))
	require.Equal(t, 5, one[int](t, db, "SELECT CAST(SERVERPROPERTY('EngineEdition') AS int)"))
	_, err := c.Servers()[1].PauseRedo(t.Context())
	require.ErrorContains(t, err, "no availability group")
}

func TestFailover(t *testing.T) {
	c := group(t, tdsenv.Config{})
	old, next := c.Server("SQL1"), c.Server("SQL2")
	listener := pool(t, c.Listener().DSN())
	must(t, listener, "INSERT INTO orders VALUES (1)")
	before := ownState(t, pool(t, old.DSN()))
	require.NoError(t, c.Failover(t.Context(), next))
	require.Equal(t, next, c.Primary())
	after := pool(t, c.Listener().DSN())
	require.Equal(t, "SQL2", one[string](t, after, "SELECT @@SERVERNAME"))
	must(t, after, "INSERT INTO orders VALUES (2)")
	require.Equal(t, before.group, ownState(t, after).group)
	require.Equal(t, 1, ownState(t, after).commit.Cmp(before.commit))
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	require.Equal(t, 2, orders(t, pool(t, old.DSN())))
	_, err := pool(t, old.DSN()).ExecContext(limit(t), "INSERT INTO orders VALUES (3)")
	require.EqualValues(t, 3906, number(t, err))

	undo, err := c.Server("SQL3").Suspend(t.Context())
	require.NoError(t, err)
	must(t, after, "INSERT INTO orders VALUES (3)")
	require.ErrorContains(t, c.Failover(t.Context(), c.Server("SQL3")), "only ForceFailover")
	require.NoError(t, undo())
}

// The numbers of lost commits are given out again: a position says nothing without its history.
func TestForcedFailoverWithLoss(t *testing.T) {
	c := group(t, tdsenv.Config{})
	old, next := c.Server("SQL1"), c.Server("SQL2")
	_, err := next.Cut(t.Context())
	require.NoError(t, err)
	must(t, pool(t, old.DSN()), "INSERT INTO orders VALUES (1)")
	must(t, pool(t, old.DSN()), "INSERT INTO orders VALUES (2)")
	lostToken := ownState(t, pool(t, old.DSN()))
	lost, err := c.ForceFailover(t.Context(), next)
	require.NoError(t, err)
	require.Equal(t, 2, lost)
	require.NoError(t, c.UndoAll())
	primary := pool(t, next.DSN())
	require.Equal(t, 0, orders(t, primary))
	must(t, primary, "INSERT INTO orders VALUES (11)")
	must(t, primary, "INSERT INTO orders VALUES (12)")
	again := ownState(t, primary)
	require.Equal(t, 0, again.commit.Cmp(lostToken.commit))
	require.Equal(t, lostToken.group, again.group)

	stale := pool(t, old.ReadOnlyDSN())
	require.Equal(t, 1, one[int](t, stale, "SELECT min(id) FROM orders"), "it shows what is lost")
	require.True(t, ownState(t, stale).suspended)
	require.NoError(t, old.Resume(t.Context()))
	require.NoError(t, c.Server("SQL3").Resume(t.Context()))
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	require.Equal(t, 11, one[int](t, stale, "SELECT min(id) FROM orders"))
}

func TestKillFreezeAndSever(t *testing.T) {
	c := group(t, tdsenv.Config{Nodes: 2})
	replica := c.Replica(0)
	db := pool(t, replica.ReadOnlyDSN())
	require.Equal(t, 0, orders(t, db))
	port := replica.Port()
	undo, err := replica.Kill(t.Context())
	require.NoError(t, err)
	require.ErrorContains(t, pool(t, replica.ReadOnlyDSN()).PingContext(limit(t)), "refused")
	must(t, pool(t, c.Primary().DSN()), "INSERT INTO orders VALUES (1)")
	require.NoError(t, undo())
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	require.Equal(t, port, replica.Port())
	require.Equal(t, 1, orders(t, pool(t, replica.ReadOnlyDSN())))

	fresh := pool(t, replica.ReadOnlyDSN())
	require.Equal(t, 1, orders(t, fresh))
	undo, err = replica.Freeze(t.Context())
	require.NoError(t, err)
	// The driver does not look at its context between the dial and the end of the login.
	late := pool(t, replica.ReadOnlyDSN())
	answer := make(chan error, 1)
	ctx := limit(t)
	go func() { answer <- late.PingContext(ctx) }()
	require.Eventually(t, func() bool { return replica.Connections() == 3 }, limitFor, tick)
	require.Empty(t, answer)
	require.NoError(t, undo())
	require.NoError(t, <-answer)
	require.Equal(t, 1, orders(t, fresh))

	replica.Sever()
	_, err = fresh.ExecContext(limit(t), "SELECT 1")
	require.Error(t, err, "the pool's connection is dead, and the driver cannot know")
	require.Equal(t, 1, orders(t, fresh))
}

func TestFailures(t *testing.T) {
	ctx := limit(t)
	c := group(t, tdsenv.Config{Nodes: 1})
	s := c.Primary()
	db := pool(t, s.DSN())
	for _, n := range []int32{976, 979, 982, 983, 988, 4221, 921, 922, 229, 916, 3947, 3948, 1219, 3961, 3951, 1222, 3980, 3988, 3989, 41301} {
		_, err := s.FailNext(ctx, tdsenv.Failure{Number: n, Match: "from ORDERS"})
		require.NoError(t, err)
		require.EqualValues(t, 1, one[int](t, db, "SELECT 1"), "no match")
		_, err = db.ExecContext(ctx, "SELECT * FROM orders")
		require.Equal(t, n, number(t, err))
		require.Equal(t, 0, orders(t, db), "once")
	}
	_, err := s.FailNext(ctx, tdsenv.Failure{Number: 18456, Login: true})
	require.NoError(t, err)
	require.EqualValues(t, 18456, number(t, pool(t, s.DSN()).PingContext(ctx)))

	// A COMMIT that was done and not acknowledged.
	_, err = s.FailNext(ctx, tdsenv.Failure{Match: "COMMIT TRANSACTION", Sever: true, After: true})
	require.NoError(t, err)
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(ctx, "INSERT INTO orders VALUES (1)")
	require.NoError(t, err)
	require.Error(t, tx.Commit())
	require.Equal(t, 1, orders(t, pool(t, s.DSN())))
	require.Empty(t, s.Faults())
	_, err = s.FailNext(ctx, tdsenv.Failure{})
	require.ErrorContains(t, err, "neither a Number nor Sever")
}

func TestLSNsGrowBeyondAFile(t *testing.T) {
	c := group(t, tdsenv.Config{Nodes: 1})
	db := pool(t, c.Primary().DSN())
	last := new(big.Int)
	files := map[string]bool{}
	for i := range 1500 {
		must(t, db, "INSERT INTO orders VALUES (@p1)", i)
		if i%100 == 0 {
			s := ownState(t, db)
			require.Equal(t, 1, s.commit.Cmp(last), fmt.Sprint(s.commit))
			last = s.commit
			files[s.commit.String()[:2]] = true
		}
	}
	require.Len(t, files, 2)
}
