package monitor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
)

// TestBytesOfPositionsThatAreNone: where positions are no offsets, who knows them says how
// many bytes lie between.
func TestBytesOfPositionsThatAreNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		w.standbys[0].lag = time.Minute
		m := w.start(t, func(cfg *monitor.Config) {
			cfg.Bytes = func(from, to lsn.LSN) uint64 {
				require.Less(t, from, to)
				return 7
			}
		})
		require.Zero(t, replica(m, 0).BehindBytes)
		w.write()
		pass(time.Second)
		require.Equal(t, uint64(7), replica(m, 0).BehindBytes)
	})
}
