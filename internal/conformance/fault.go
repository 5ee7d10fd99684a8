package conformance

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// tolerant lets replicas fail as often as a table of errors does, without being left alone.
func tolerant(c *readsplit.Config) { c.Health.Strikes = 1000 }

// servedRow is a row of what Faults.Fail returns.
type servedRow struct{ Server string }

// Each code that a replica may answer with leads where package retry says: to another replica
// and the primary, at once to the primary, or to the caller.
func testErrors(t *testing.T, s *suite) {
	d := s.open(t, config(tolerant))
	for _, e := range s.b.SQL.Errors {
		d.replicasServe(t)
		read, undo, err := s.b.Faults.Fail(limit(t), e.Code, false)
		require.NoError(t, err)
		db := d.session()
		var rows []servedRow
		tx := db.Raw(read).Scan(&rows)
		decided, ok := readsplit.DecisionOf(tx)
		require.True(t, ok, e.Code)
		if e.Action == retry.Surface {
			require.Error(t, tx.Error, e.Code)
			require.Contains(t, e.Code, s.b.SQL.Code(tx.Error))
			require.True(t, decided.Replica, "%s: %v", e.Code, decided)
			require.Equal(t, 1, decided.Attempts, "%s: %v", e.Code, decided)
		} else {
			require.NoError(t, tx.Error, e.Code)
			require.NotEmpty(t, rows, e.Code)
			require.Equal(t, s.primary(), rows[0].Server, e.Code)
			require.False(t, decided.Replica, "%s: %v", e.Code, decided)
			if e.Action == retry.Primary {
				require.Equal(t, 2, decided.Attempts, "%s: %v", e.Code, decided)
			} else {
				require.Equal(t, min(len(s.b.Servers), 3), decided.Attempts, "%s: %v", e.Code, decided)
			}
		}
		if e.Code != s.b.SQL.RefusedWrite {
			require.NoError(t, undo())
			continue
		}
		require.Equal(t, policy.ReasonRefusedByReplica, decided.Reason)
		require.NoError(t, undo())
		if s.b.Proofs[0].Window { // a position of before, which replicas show, binds nobody
			require.Equal(t, s.primary(), d.who(t, db), "it counts as a write of its session")
		}
		require.EqualValues(t, 1, d.plugin.Status().Refused)
	}
}

// A statement that was taken for a read and is none runs once, on the primary, as a write.
// Inside a transaction nothing is run again: it is the caller's.
func testNoRetryInside(t *testing.T, s *suite) {
	d := s.open(t, config(tolerant))
	code := s.b.SQL.Deadlock
	read, undo, err := s.b.Faults.Fail(limit(t), code, false)
	require.NoError(t, err)
	t.Cleanup(func() { _ = undo() })
	db := d.session()
	err = db.Transaction(func(tx *gorm.DB) error {
		require.True(t, s.isReplica(d.who(t, tx)))
		return tx.Raw(read).Scan(&[]servedRow{}).Error
	}, &sql.TxOptions{ReadOnly: true})
	require.Error(t, err)
	require.Equal(t, code, s.b.SQL.Code(err))

	// Who has left is given their own error, and nothing is run again for them.
	gone, cancel := context.WithCancel(newSession())
	cancel()
	require.ErrorIs(t, d.WithContext(gone).Raw(read).Scan(&[]servedRow{}).Error, context.Canceled)
	require.ErrorIs(t, d.session().First(&book{}, "title = ?", "nothing").Error, gorm.ErrRecordNotFound)
}

// A replica that fails in the middle of its rows costs no error, and no row is there twice, as
// long as none has reached the application.
func testLateErrors(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		for name, find := range map[string]func(db *gorm.DB, read string) ([]servedRow, error){
			"Find": func(db *gorm.DB, read string) (rows []servedRow, err error) {
				err = db.Raw(read).Find(&rows).Error
				return rows, err
			},
			"Find of maps": func(db *gorm.DB, read string) (rows []servedRow, err error) {
				var all []map[string]any
				err = db.Raw(read).Find(&all).Error
				for _, m := range all {
					server, _ := m["server"].(string)
					rows = append(rows, servedRow{server})
				}
				return rows, err
			},
			"First": func(db *gorm.DB, read string) ([]servedRow, error) {
				var row servedRow
				err := db.Raw(read).First(&row).Error
				return []servedRow{row}, err
			},
		} {
			read, undo, err := s.b.Faults.Fail(limit(t), s.b.SQL.Deadlock, true)
			require.NoError(t, err)
			rows, err := find(d.session(), read)
			require.NoError(t, err, name)
			require.NotEmpty(t, rows, name)
			require.True(t, name == "First" || len(rows) > 64, "%s: %d rows", name, len(rows))
			if name != "First" { // its row may be right, and what is wrong behind it nobody asked for
				require.False(t, slices.ContainsFunc(rows, func(r servedRow) bool { return r.Server != s.primary() }), "%s: %v", name, rows)
			}
			require.NoError(t, undo())
		}
		require.NotZero(t, d.plugin.Status().Retries)

		// Rows that were given out cannot be taken back: their error comes behind them.
		read, undo, err := s.b.Faults.Fail(limit(t), s.b.SQL.Deadlock, true)
		require.NoError(t, err)
		t.Cleanup(func() { _ = undo() })
		rows, err := d.session().Raw(read).Rows()
		require.NoError(t, err)
		n := 0
		for rows.Next() {
			n++
		}
		require.Equal(t, s.b.SQL.Deadlock, s.b.SQL.Code(rows.Err()))
		require.Greater(t, n, 64)
		_ = rows.Close()
		require.Equal(t, s.b.SQL.Deadlock, s.b.SQL.Code(d.session().Raw(read).Scan(&[]servedRow{}).Error))
	}, config(tolerant))
}

// Replicas that do not have a table yet lead to the primary.
func testSchemaBehind(t *testing.T, s *suite) {
	d := s.open(t)
	s.still(t)
	s.past(t, "CREATE TABLE conformance_new (id int PRIMARY KEY)")
	t.Cleanup(func() { s.past(t, "DROP TABLE conformance_new") })
	for range 5 {
		var n int64
		tx := d.session().Table("conformance_new").Count(&n)
		require.Equal(t, policy.ReasonSchemaBehind, reason(t, tx))
	}
	d.reads(t, d.session(), false, "one")
}

// Connections to a replica that were severed while nobody used them cost nobody an error, also
// where a transaction begins.
func testSevered(t *testing.T, s *suite) {
	d := s.open(t)
	const many = 8
	use := func(ctx context.Context) {
		var every sync.WaitGroup
		errs := make(chan error, many)
		for range many {
			every.Go(func() {
				var name string
				errs <- d.WithContext(ctx).Raw(s.b.SQL.Slow).Scan(&name).Error
			})
		}
		every.Wait()
		close(errs)
		for err := range errs {
			require.NoError(t, err)
		}
	}
	use(newSession())
	for _, replica := range s.replicas() {
		require.NoError(t, s.b.Faults.Sever(limit(t), replica))
	}
	require.NoError(t, d.session().Transaction(func(tx *gorm.DB) error { return tx.Find(&[]book{}).Error }, &sql.TxOptions{ReadOnly: true}))
	for range 2 * many {
		d.who(t, d.session())
	}
	d.replicasServe(t)

	// The primary's are the application's own: whether its driver finds out before it sends
	// something is the driver's affair. The errors are typed, and end with the connections.
	use(readsplit.Fresh(newSession()))
	require.NoError(t, s.b.Faults.Sever(limit(t), s.primary()))
	failed := 0
	for good := 0; good < 2*many; good++ {
		if err := d.fresh().Find(&[]book{}).Error; err != nil {
			require.Equal(t, retry.CauseConnection, retry.OfRead(err).Cause, "%v", err)
			failed, good = failed+1, 0
			require.LessOrEqual(t, failed, 4*many)
		}
	}
	d.replicasServe(t)
}

// A replica that dies costs nobody an error, and serves when it is back; a plugin that starts
// meanwhile starts.
func testKilled(t *testing.T, s *suite) {
	d := s.open(t, config(func(c *readsplit.Config) { c.SampleTimeout = 500 * time.Millisecond }))
	dies := s.replicas()[0]
	undo, err := s.b.Faults.Kill(limit(t), dies)
	require.NoError(t, err)
	t.Cleanup(func() { _ = undo() })
	for range 20 {
		require.NotEqual(t, dies, d.who(t, d.session()))
	}
	late := s.open(t, atOnce, config(func(c *readsplit.Config) { c.SampleTimeout = 500 * time.Millisecond }))
	require.NotEqual(t, dies, late.who(t, late.session()))
	require.NoError(t, undo())
	require.NoError(t, s.b.CaughtUp(limit(t)))
	d.replicasServe(t)
	late.replicasServe(t)
}

// A write whose COMMIT was sent and not acknowledged says so, and its session reads from the
// primary; what is known to have failed does not say so.
func testLostCommit(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.still(t)
		insert, undo, err := s.b.Faults.LoseCommit(limit(t))
		require.NoError(t, err)
		t.Cleanup(func() { _ = undo() })
		db := d.session()
		tx := db.Begin()
		require.NoError(t, tx.Error)
		require.NoError(t, tx.Exec(insert).Error)
		err = tx.Commit().Error
		require.Error(t, err)
		require.ErrorIs(t, err, retry.ErrOutcomeUnknown)
		d.own(t, db, s.titles(t)...)
		require.EqualValues(t, 1, d.plugin.Status().Unsure)
		require.NoError(t, undo())

		db = d.session()
		err = db.Create(&author{Name: "Ann"}).Error
		require.Error(t, err)
		require.NotErrorIs(t, err, retry.ErrOutcomeUnknown)
	})
}

// A replica that takes writes is told of and never read from.
func testWritableReplica(t *testing.T, s *suite) {
	d := s.open(t, atOnce, config(func(c *readsplit.Config) {
		c.Replicas = []readsplit.Replica{{Name: "another name", Dialector: s.b.PrimaryAsReplica()}}
	}))
	until(t, func() bool {
		var server string
		tx := d.session().Raw("SELECT " + s.by()).Scan(&server)
		require.Equal(t, s.primary(), server)
		decided, _ := readsplit.DecisionOf(tx)
		require.False(t, decided.Replica, "%v", decided)
		return reason(t, tx) == policy.ReasonNotAStandby
	}, "the replica to be known for what it is")
	until(t, func() bool { return len(d.log.with("another name")) > 0 }, "a warning")
}

// After a change of primary what sessions know cannot be compared: they read their writes from
// the new primary, and then from the replica that follows it; never from the one that was promoted
// as if it were a replica.
func testFailover(t *testing.T, s *suite) {
	s.begin(t)
	var options []option
	if s.b.Follow != nil {
		options = append(options, config(s.b.Follow))
	}
	d := s.open(t, options...)
	db := d.session()
	require.NoError(t, db.Create(&book{Title: "two", AuthorID: s.ann}).Error)
	require.NoError(t, s.b.CaughtUp(limit(t)))
	until(t, func() bool { return d.who(t, db) != s.primary() }, "a replica to serve")
	next := s.replicas()[0]
	require.NoError(t, s.b.Faults.Failover(limit(t)))
	until(t, func() bool {
		var titles []string
		tx := db.Model(&book{}).Order("id").Pluck("title", &titles)
		decided, _ := readsplit.DecisionOf(tx)
		if tx.Error == nil { // one that ends under it fails
			require.Equal(t, []string{"one", "two"}, titles, "%v", decided)
		}
		return tx.Error == nil && decided.Reason == policy.ReasonOtherHistory
	}, "the session to be of another history")
	var server string
	until(t, func() bool {
		tx := db.WithContext(readsplit.Fresh(newSession())).Raw("SELECT " + s.by()).Scan(&server)
		return tx.Error == nil && server == next
	}, "the new primary to be asked")
	require.Positive(t, d.plugin.Status().OtherHistory)
	until(t, func() bool { return db.Create(&book{Title: "three", AuthorID: s.ann}).Error == nil }, "writes to go on")
	until(t, func() bool {
		var titles []string
		tx := db.Model(&book{}).Distinct().Order("title").Pluck("title", &titles)
		require.NoError(t, tx.Error)
		require.Contains(t, titles, "three")
		decided, _ := readsplit.DecisionOf(tx)
		require.NotEqual(t, next, decided.Server, "it is no replica any more")
		return decided.Replica
	}, "a replica of the new primary to serve")
}
