package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv"
)

// The two that need no page to read their writes, and the one that stops when a replica
// does.
func TestModes(t *testing.T) {
	cluster, err := testenv.New(t.Context(), testenv.Config{Version: os.Getenv("READSPLIT_PG"), Settings: map[string]string{"autovacuum": "off"}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Close(context.WithoutCancel(t.Context()))) })
	_, err = cluster.Primary().DB().ExecContext(t.Context(), "CREATE TABLE orders (id bigserial PRIMARY KEY, customer bigint)")
	require.NoError(t, err)
	o := options{writes: 50, held: 2, patience: 500 * time.Millisecond}
	for _, m := range modes {
		if m.standbys != "2 (replica1, replica2)" && !m.split {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			r, err := measure(t.Context(), cluster, o, m, 0)
			require.NoError(t, err)
			require.Positive(t, r.median)
			switch {
			case m.split:
				assert.Zero(t, r.missing, "own orders")
				assert.Equal(t, o.held, r.acknowledged, "a paused replica holds up nobody")
				assert.Zero(t, r.missingHeld, "own orders while a replica is paused")
			case m.commit == "remote_apply":
				assert.Zero(t, r.missing, "every replica has applied what is acknowledged")
				assert.Equal(t, o.held, r.waited, "and nothing is acknowledged while one does not apply")
				assert.Equal(t, o.held, r.committed, "although it is committed")
			default:
				assert.Equal(t, o.held, r.acknowledged, "flushed is not applied")
				assert.Positive(t, r.missingHeld, "on the replica that is paused")
			}
		})
	}
}
