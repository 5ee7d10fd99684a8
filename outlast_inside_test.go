package readsplit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/session"
)

// A position of within the window is what no read goes by after it, also where another
// read, or another write, was quicker to replace it.
func TestPositionOfTheWindowIsNeverUsedAfterIt(t *testing.T) {
	rt := &router{}
	rt.monitor = monitor.New(monitor.Config{
		Primary:     monitor.Target{Name: primaryName, Source: invented{always(1)}},
		SampleEvery: 50 * time.Millisecond, SampleTimeout: time.Second, MaxLag: time.Second, MaxWait: time.Millisecond,
	})
	rt.asks = rt.monitor
	rt.monitor.Start()
	defer rt.monitor.Close()
	over := time.Now().Add(time.Hour) // no capture has begun after it
	old := session.Claim{Position: lsn.Position{History: rt.history(), LSN: 7}, Until: over}

	for name, now := range map[string]session.Claim{
		"nobody":         old,
		"another reader": old.AfterDoubt(9, rt.history()),
		"another write":  old.AfterWrite(9, false, rt.history(), time.Now()).Staying(over.Add(time.Hour)),
	} {
		t.Run(name, func(t *testing.T) {
			var r register
			r.update(func(session.Claim) session.Claim { return now })
			c, again := rt.outlast(&r, &old)
			require.True(t, again)
			require.NotZero(t, c.Capture)
		})
	}
}
