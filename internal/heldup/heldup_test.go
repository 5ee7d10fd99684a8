package heldup_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/internal/heldup"
)

// A clock that stands still while anybody runs is never late.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		longest := heldup.Watch(t)
		<-time.After(time.Minute)
		assert.Zero(t, longest())
	})
}

// Where nobody gives way for a while, the delay is seen.
func TestWatchOfAMachineThatIsBusy(t *testing.T) {
	longest := heldup.Watch(t)
	limit := time.Now().Add(30 * time.Second)
	for longest() == 0 && time.Now().Before(limit) {
		<-time.After(time.Millisecond)
	}
	assert.Positive(t, longest(), "no timer is exact")
}
