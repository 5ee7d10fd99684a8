package session

import "time"

// Lifetime is how long a token counts, by the configuration of whoever reads it: the
// longest time after which it can still say something that the bound on staleness does
// not say already.
//
// A read within the bound sees whatever was committed maxLag before its decision, and
// decisions rest on news of maxSampleAge at most. A doubt lasts for window. Where a
// token was issued a time ago that the two clocks disagree about, by MaxTokenSkew at
// most, it is as young as it can be; and Issued is rounded down to seconds.
//
// Without a bound (maxLag <= 0) no time proves anything, and a token counts for
// MaxTokenLifetime, which is the most in any case.
func Lifetime(maxLag, maxSampleAge, window time.Duration) time.Duration {
	const uncertain = MaxTokenSkew + time.Second
	if maxLag <= 0 {
		return MaxTokenLifetime
	}
	proven := MaxTokenLifetime
	if maxLag < MaxTokenLifetime && maxSampleAge < MaxTokenLifetime {
		proven = maxLag + max(maxSampleAge, 0)
	}
	return min(max(proven, min(window, MaxTokenLifetime))+uncertain, MaxTokenLifetime)
}
