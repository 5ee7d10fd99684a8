package readsplit

import "time"

// idleEvery is the default of Config.IdleSampleEvery: as seldom as the rules bear. What
// is known is then never too old for a read, so that the first one after a silence waits
// for nothing.
func (c Config) idleEvery() time.Duration {
	d := c.MaxSampleAge * 4 / 5
	if c.MaxLag > 0 {
		d = min(d, c.MaxLag/2)
	}
	return max(d, c.SampleEvery)
}

// drowsy reports whether servers were sampled seldom until now, and says that somebody
// needs them. An explanation needs nobody.
func (rt *router) drowsy() bool {
	if rt.rehearsal != nil {
		return rt.monitor.Drowsy()
	}
	return rt.monitor.Use()
}

// underWay reports whether anything runs on a replica, which must be broken off if that
// dies.
func (rt *router) underWay() bool {
	for _, s := range rt.replicas() {
		if s.inFlight() > 0 || s.inUse() > 0 { // in the pools of groups too
			return true
		}
	}
	return false
}
