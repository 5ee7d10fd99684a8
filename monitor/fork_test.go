package monitor

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/lsn"
)

// While another server of the cluster writes another history, a standby is proven to
// follow the primary's only by what it is seen to stream.
func TestLineageWhileForked(t *testing.T) {
	h := lsn.History{System: 7, Timeline: 1, Incarnation: 1}
	for name, tt := range map[string]struct {
		streams uint32
		want    verdict
	}{
		"it is seen to stream the primary's timeline": {1, proven},
		"it is seen to stream another":                {2, foreign},
		"it is not seen":                              {0, unproven},
	} {
		l := lineage{fork: true}
		s := lsn.Sample{Server: lsn.Server{System: 7, Started: 5}, InRecovery: true, Replay: 10, ReceivedTimeline: tt.streams, ControlTimeline: 1}
		assert.Equal(t, tt.want, l.judge(h, &s, 20, true), name)
		s.ReceivedTimeline = 0
		assert.Equal(t, tt.want, l.judge(h, &s, 20, true), "%s, and then it receives nothing", name)
		l.fork = false
		if tt.streams == 0 {
			assert.Equal(t, proven, l.judge(h, &s, 20, true), "%s, and the fork is over", name)
		}
	}
}
