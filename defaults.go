package readsplit

import (
	"time"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

const (
	defaultMaxLag        = 2 * time.Second
	defaultSampleEvery   = 200 * time.Millisecond
	defaultMaxSampleAge  = time.Second
	defaultSampleTimeout = 500 * time.Millisecond
	defaultMaxWait       = 5 * time.Millisecond
	defaultStickyWindow  = 5 * time.Second
	defaultMaxOpen       = 64
	defaultMaxIdleTime   = 5 * time.Minute

	// noLimit stands for a bound that is off. Half of the longest duration, so
	// that adding to it does not overflow.
	noLimit = time.Duration(1 << 62)
)

// withDefaults fills in what was left at zero. It does not judge anything.
func (c Config) withDefaults() Config {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.MaxLag, defaultMaxLag)
	def(&c.SampleEvery, defaultSampleEvery)
	def(&c.MaxSampleAge, defaultMaxSampleAge)
	def(&c.IdleSampleEvery, c.idleEvery())
	def(&c.SampleTimeout, defaultSampleTimeout)
	def(&c.MaxWait, defaultMaxWait)
	def(&c.StickyWindow, max(defaultStickyWindow, c.MaxLag+c.MaxSampleAge))
	def(&c.TokenLifetime, session.Lifetime(c.MaxLag, c.MaxSampleAge, c.StickyWindow))
	if c.Balancer == nil {
		c.Balancer = policy.LeastInFlight()
	}
	c.Balancer = c.zoned(c.Balancer)
	c.Replicas = weighed(c.Replicas)
	if c.Discovered.Weight == 0 {
		c.Discovered.Weight = 1
	}
	if c.Instances == 0 {
		c.Instances = 1
	}
	return c
}

// zoned makes a balancer prefer the replica that a session prefers, in the zone of the
// process.
func (c Config) zoned(b policy.Balancer) policy.Balancer {
	b = policy.Affinity(b) // for sessions that prefer one
	if c.Zone == "" {
		return b
	}
	return policy.ZoneFirstUntil(c.Spill, b)
}

// weighed fills in the weights.
func weighed(replicas []Replica) []Replica {
	replicas = append([]Replica(nil), replicas...)
	for i := range replicas {
		if replicas[i].Weight == 0 {
			replicas[i].Weight = 1
		}
	}
	return replicas
}
