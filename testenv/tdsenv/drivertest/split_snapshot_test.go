package drivertest

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv/tdsenv"
)

// A transaction on a secondary keeps its snapshot, so that a position says nothing of what
// it shows: what the session has to see since its first read is read on the primary,
// whichever way it came and whoever found out about it.
func TestSnapshotIsLeftForWhatCameSince(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
	admin := pool(t, c.Primary().DSN())
	_, err := admin.ExecContext(limit(t), lsn.SQLServerMarkerTable("dbo.marker"))
	require.NoError(t, err)
	db := split(t, c, func(cfg *readsplit.Config) { cfg.SQLServer.Marker = "dbo.marker" })
	const insert = "INSERT INTO notes (text) OUTPUT inserted.id VALUES ('mine')"
	for name, comes := range map[string]func(ctx context.Context, s *readsplit.Session){
		"rows that were closed": func(ctx context.Context, _ *readsplit.Session) {
			rows, err := db.WithContext(ctx).Raw(insert).Rows()
			require.NoError(t, err)
			require.True(t, rows.Next())
			require.False(t, rows.Next())
			require.NoError(t, rows.Close())
		},
		"a token": func(ctx context.Context, s *readsplit.Session) {
			other := readsplit.NewSession()
			there := readsplit.WithSession(ctx, other)
			require.NoError(t, db.WithContext(there).Create(&note{Text: "mine"}).Error)
			token, err := other.Token(there)
			require.NoError(t, err)
			s.Join(token)
		},
		"caught up": func(ctx context.Context, s *readsplit.Session) {
			_, err := admin.ExecContext(ctx, insert)
			require.NoError(t, err)
			s.CatchUp()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := readsplit.NewSession()
			ctx := readsplit.WithSession(limit(t), s)
			until(t, ctx, db.DB, policy.ReasonCaughtUp)
			tx := db.WithContext(ctx).Begin(&sql.TxOptions{ReadOnly: true})
			require.NoError(t, tx.Error)
			defer tx.Rollback()
			count := func() (n int64) {
				require.NoError(t, tx.Model(&note{}).Count(&n).Error)
				return n
			}
			before := count()
			d, ok := readsplit.DecisionOf(tx)
			require.True(t, ok)
			require.True(t, d.Replica)
			require.Equal(t, before, count())
			comes(ctx, s)
			require.NoError(t, c.WaitCaughtUp(limit(t)))
			<-time.After(200 * time.Millisecond) // the plugin knows it too
			require.Equal(t, before+1, count())
		})
	}
}
