package readsplit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestDialPause(t *testing.T) {
	now := time.Now()
	var p dialPause
	assert.True(t, p.over(now))
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 16} {
		p.after(true, now)
		assert.False(t, p.over(now.Add(want*time.Second-1)), want)
		assert.True(t, p.over(now.Add(want*time.Second)), want)
	}
	p.after(false, now)
	assert.True(t, p.over(now))
	p.after(true, now)
	assert.True(t, p.over(now.Add(pauseFirst)), "it begins anew")
}
