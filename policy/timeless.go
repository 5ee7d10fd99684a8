package policy

// timeless is a balancer that may not ask how long reads take, so that nobody has to
// work out the latency of each candidate for it. One that does not say so asks.
type timeless interface{ timeless() bool }

func (random) timeless() bool        { return true }
func (roundRobin) timeless() bool    { return true }
func (leastInFlight) timeless() bool { return true }

func (a affinity) timeless() bool    { return isTimeless(a.inner) }
func (b leastBehind) timeless() bool { return isTimeless(b.inner) }
func (z zoneFirst) timeless() bool   { return z.spill.Latency <= 0 && isTimeless(z.inner) }

func isTimeless(b Balancer) bool {
	t, ok := b.(timeless)
	return ok && t.timeless()
}
