package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A primary that is down has cut off all of its replicas. Who is sent to their logs and
// passwords first loses the minutes that count.
func TestCutOffWhileThePrimaryIsAway(t *testing.T) {
	remedy := func(v *view) (text string) {
		v.change(1, func(_ int, m *moment) { m.Receiver = false })
		for _, f := range judgeReplay(v) {
			if f.ID == CutOff {
				text = f.Remedy
			}
		}
		return text
	}
	assert.Regexp(t, "^Look at its log: primary_conninfo", remedy(healthyView(t)))

	away := healthyView(t)
	away.primary = nil
	assert.Regexp(t, "^The primary does not answer: bring it back, which should end this", remedy(away))

	// Only replicas were named: nothing is known of their primary.
	unnamed := healthyView(t)
	unnamed.primary, unnamed.all = nil, unnamed.all[1:]
	unnamed.change(0, func(_ int, m *moment) { m.Receiver = false })
	assert.Regexp(t, "^Look at its log", remedy(unnamed))
}
