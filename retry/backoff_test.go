package retry_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/retry"
)

func TestBackoff_Allows(t *testing.T) {
	runs := func(b retry.Backoff) int {
		n := 1
		for b.Allows(n) {
			n++
		}
		return n
	}
	assert.Equal(t, 3, runs(retry.Backoff{}))
	assert.Equal(t, 1, runs(retry.Backoff{Attempts: -1}))
	assert.Equal(t, 1, runs(retry.Backoff{Attempts: 1}))
	assert.Equal(t, 5, runs(retry.Backoff{Attempts: 5}))
}

func TestBackoff_Delay(t *testing.T) {
	const most = math.MaxUint64
	ms := time.Millisecond
	tests := []struct {
		name string
		b    retry.Backoff
		n    int
		r    uint64
		want time.Duration
	}{
		{"default, first", retry.Backoff{}, 1, most, 5 * ms},
		{"default, second", retry.Backoff{}, 2, most, 10 * ms},
		{"default, fifth", retry.Backoff{}, 5, most, 80 * ms},
		{"default, bounded", retry.Backoff{}, 6, most, 100 * ms},
		{"default, far", retry.Backoff{}, math.MaxInt, most, 100 * ms},
		{"at once", retry.Backoff{}, 5, 0, 0},
		{"half way", retry.Backoff{}, 1, most / 2, 2500 * time.Microsecond},
		{"no pause", retry.Backoff{Base: -1}, 9, most, 0},
		{"base above the default bound", retry.Backoff{Base: time.Second}, 3, most, time.Second},
		{"own bound", retry.Backoff{Base: 3 * ms, Max: 7 * ms}, 2, most, 6 * ms},
		{"own bound reached", retry.Backoff{Base: 3 * ms, Max: 7 * ms}, 3, most, 7 * ms},
		{"exactly the bound", retry.Backoff{Base: 4 * ms, Max: 8 * ms}, 2, most, 8 * ms},
		{"no overflow", retry.Backoff{Base: 1, Max: math.MaxInt64}, 64, most, math.MaxInt64},
		{"before any run", retry.Backoff{}, 0, most, 5 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, tt.b.Delay(tt.n, tt.r)) })
	}
}

// Readers thrown out together must not return together: the pauses cover the whole range evenly.
func TestBackoff_DelayIsSpread(t *testing.T) {
	const buckets, draws = 10, 10_000
	var hits [buckets]int
	longest := retry.Backoff{}.Delay(1, math.MaxUint64)
	for i := range uint64(draws) {
		d := retry.Backoff{}.Delay(1, i*(math.MaxUint64/draws))
		hits[min(int(d*buckets/longest), buckets-1)]++
	}
	for i, n := range hits {
		assert.InDelta(t, draws/buckets, n, 5, "bucket %d", i)
	}
}

func TestBackoff_Validate(t *testing.T) {
	for _, good := range []retry.Backoff{
		{}, {Attempts: -1, Base: -1}, {Attempts: 7, Base: time.Second}, {Base: time.Second, Max: time.Second}, {Max: 5 * time.Millisecond}, {Base: -1, Max: 1},
	} {
		assert.NoError(t, good.Validate(), "%+v", good)
	}

	err := retry.Backoff{Attempts: -2, Base: -time.Second, Max: -1}.Validate()
	require.Error(t, err)
	assert.Equal(t, "readsplit: Backoff.Attempts is -2: must be positive; 0 takes the default of 3, -1 means no retry\n"+
		"readsplit: Backoff.Base is -1s: must not be negative; 0 takes the default of 5ms, -1 means no pause\n"+
		"readsplit: Backoff.Max is -1ns: must not be negative; 0 takes the default of 100ms, and Base: -1 means no pause", err.Error())

	assert.EqualError(t, retry.Backoff{Base: 2 * time.Second, Max: time.Second}.Validate(),
		"readsplit: Backoff.Max is 1s: must not be below Backoff.Base, which is 2s; raise Max or lower Base")
	assert.EqualError(t, retry.Backoff{Max: time.Millisecond}.Validate(),
		"readsplit: Backoff.Max is 1ms: must not be below Backoff.Base, which is 5ms; raise Max or lower Base")
}
