package lsn_test

import (
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/lsn"
)

func TestWaitSQL(t *testing.T) {
	for most, want := range map[time.Duration]string{
		5 * time.Millisecond:               "5ms",
		5*time.Millisecond + 1:             "6ms",
		time.Second:                        "1000ms",
		time.Millisecond:                   "1ms",
		500 * time.Microsecond:             "1ms", // the server would round it to 0, which is for ever
		1:                                  "1ms",
		0:                                  "1ms",
		-time.Hour:                         "1ms",
		math.MinInt64:                      "1ms",
		24 * time.Hour:                     "86400000ms",
		1499*time.Microsecond + 999*1:      "2ms",
		time.Minute + 400*time.Microsecond: "60001ms",
	} {
		assert.Equal(t, "WAIT FOR LSN '1A/2B3C4D5E' WITH (MODE 'standby_replay', TIMEOUT '"+want+"', NO_THROW)",
			lsn.WaitSQL(0x1A_2B3C4D5E, most), most)
	}
	// Nothing but a position and a number ever stands in it.
	form := regexp.MustCompile(`^WAIT FOR LSN '[0-9A-F]{1,8}/[0-9A-F]{1,8}' WITH \(MODE 'standby_replay', TIMEOUT '[1-9][0-9]*ms', NO_THROW\)$`)
	for _, to := range []lsn.LSN{0, 1, math.MaxUint32, math.MaxUint64} {
		assert.Regexp(t, form, lsn.WaitSQL(to, time.Millisecond))
	}
}
