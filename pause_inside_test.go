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
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 16 * time.Second} {
		p.after(true, now)
		assert.False(t, p.over(now.Add(want-1)), want)
		assert.True(t, p.over(now.Add(want)), want)
	}
	p.after(false, now)
	assert.True(t, p.over(now))
	p.after(true, now)
	assert.True(t, p.over(now.Add(pauseFirst)), "it begins anew")
}
