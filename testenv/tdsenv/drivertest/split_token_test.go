package drivertest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv/tdsenv"
)

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
