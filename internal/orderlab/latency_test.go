package orderlab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	assert.Equal(t, time.Duration(50), percentile(hundred, 0.50))
	assert.Equal(t, time.Duration(99), percentile(hundred, 0.99))
	assert.Equal(t, time.Duration(100), percentile(hundred, 1))
	assert.Equal(t, time.Duration(2), percentile([]time.Duration{3, 1, 2}, 0.5))
	assert.Equal(t, time.Duration(7), percentile([]time.Duration{7}, 0.99))
	assert.Equal(t, time.Duration(0), percentile(nil, 0.99))
}
