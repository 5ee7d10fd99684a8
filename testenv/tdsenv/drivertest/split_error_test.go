package drivertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv/tdsenv"
)

// What a secondary cannot do now is done elsewhere; a write that was taken for a read
// runs on the primary, as a write.
func TestErrorsOfSecondaries(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
	db := split(t, c, func(cfg *readsplit.Config) { cfg.Health.Strikes, cfg.StickyWindow = 1000, time.Hour })
	ctx := session(t)
	for _, number := range []int32{976, 979, 982, 983, 988, 4221, 921, 922, 3947, 3948, 1219, 3961, 1205, 1222, 3980, 3988, 978, 916, 208} {
		until(t, ctx, db.DB, policy.ReasonCaughtUp)
		undo, err := c.Replica(0).FailNext(limit(t), tdsenv.Failure{Match: "@@SERVERNAME AS", Number: number})
		require.NoError(t, err)
		// A statement of its own: one that replay cancels again and again stays away.
		server, reason := readByQuery(t, ctx, db.DB, fmt.Sprintf("SELECT @@SERVERNAME AS after%d", number))
		require.Equal(t, c.Primary().Name(), server, "%d: %v", number, reason)
		require.NoError(t, undo())
	}
	until(t, ctx, db.DB, policy.ReasonCaughtUp)
	_, err := c.Replica(0).FailNext(limit(t), tdsenv.Failure{Match: "@@SERVERNAME", Number: 3906})
	require.NoError(t, err)
	server, reason := readBy(t, ctx, db.DB)
	require.Equal(t, c.Primary().Name(), server)
	require.Equal(t, policy.ReasonRefusedByReplica, reason)
	_, reason = readBy(t, ctx, db.DB)
	require.Equal(t, policy.ReasonStickyWindow, reason, "it counts as a write")
	require.EqualValues(t, 1, db.plugin.Status().Refused)
}

// Connections that were severed while nobody used them cost nobody an error.
func TestSeveredConnections(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
	db := split(t, c, nil)
	ctx := session(t)
	until(t, ctx, db.DB, policy.ReasonCaughtUp)
	const many = 8
	done := make(chan error, many)
	for range many {
		go func() {
			var one int
			done <- db.WithContext(ctx).Raw("WAITFOR DELAY '00:00:00.2'; SELECT 1").Scan(&one).Error
		}()
	}
	for range many {
		require.NoError(t, <-done)
	}
	c.Replica(0).Sever()
	for i := range 2 * many {
		var name string
		require.NoError(t, db.WithContext(ctx).Raw("SELECT @@SERVERNAME").Scan(&name).Error, i)
	}
	require.Equal(t, c.Replica(0).Name(), until(t, ctx, db.DB, policy.ReasonCaughtUp))
}

// Savepoints, OUTPUT and locking hints are what they are on SQL Server.
func TestStatements(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
	db := split(t, c, nil)
	reads := func(query string) policy.Reason {
		ctx := session(t)
		until(t, ctx, db.DB, policy.ReasonCaughtUp)
		var found []note
		tx := db.WithContext(ctx).Raw(query).Scan(&found)
		require.NoError(t, tx.Error, query)
		d, ok := readsplit.DecisionOf(tx)
		require.True(t, ok)
		return d.Reason
	}
	require.Equal(t, policy.ReasonWrite, reads("INSERT INTO notes (text) OUTPUT INSERTED.id, INSERTED.text VALUES ('by OUTPUT')"))
	require.Equal(t, policy.ReasonLockingRead, reads("SELECT * FROM notes WITH (UPDLOCK) WHERE text = 'by OUTPUT'"))
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	ctx := session(t)
	require.NoError(t, db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&note{Text: "kept"}).Error; err != nil {
			return err
		}
		_ = tx.Transaction(func(tx *gorm.DB) error {
			require.NoError(t, tx.Create(&note{Text: "undone"}).Error)
			return fmt.Errorf("undo it")
		})
		return nil
	}))
	var texts []string
	require.NoError(t, db.WithContext(ctx).Model(&note{}).Where("text IN ?", []string{"kept", "undone"}).Pluck("text", &texts).Error)
	require.Equal(t, []string{"kept"}, texts)
}

// A token carries the window to another process.
func TestToken(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
	a, b := split(t, c, nil), split(t, c, nil)
	wrote := readsplit.NewSession()
	began := time.Now()
	ctx := readsplit.WithSession(limit(t), wrote)
	n := note{Text: "mine"}
	require.NoError(t, a.WithContext(ctx).Create(&n).Error)
	token, err := wrote.Token(ctx)
	require.NoError(t, err)
	joined := readsplit.NewSession()
	joined.Join(token)
	there := readsplit.WithSession(context.Background(), joined)
	for time.Since(began) < window/2 {
		if _, reason := readBy(t, there, b.DB); time.Since(began) < window {
			require.Contains(t, []policy.Reason{policy.ReasonUnsure, policy.ReasonStickyWindow}, reason)
		}
	}
	until(t, there, b.DB, policy.ReasonCaughtUp)
	require.GreaterOrEqual(t, time.Since(began), window)
}
