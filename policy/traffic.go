package policy

import "fmt"

// Traffic is what an operator sets about all reads at once: to take replicas into
// use step by step, and to do without them at once. The zero Traffic lets the
// rules decide.
type Traffic struct {
	// KillSwitch keeps every read on the primary, whatever its context asks for.
	KillSwitch bool
	// Percent is how many of a hundred reads the rules decide about; the others go
	// to the primary. 0 means 100; for none there is KillSwitch.
	Percent int
	// Shadow decides about every read, counts the decision, and runs the read on the
	// primary.
	Shadow bool
}

// Validate returns an error that names the field whose value has no meaning, or nil.
func (t Traffic) Validate() error {
	if t.Percent < 0 || t.Percent > 100 {
		return fmt.Errorf("readsplit: Traffic.Percent is %d: it must be from 1 to 100 (0 means 100); set KillSwitch to keep every read on the primary", t.Percent)
	}
	return nil
}

// Withholds returns why t keeps a read on the primary, or ReasonNone. random is
// the read's, see [Query].
func (t Traffic) Withholds(random uint64) Reason {
	switch {
	case t.KillSwitch:
		return ReasonKillSwitch
	case t.Percent > 0 && t.Percent < 100 && chance(random, -1)*100 >= float64(t.Percent):
		return ReasonPercent
	}
	return ReasonNone
}

// ShadowCounts is what the decisions of shadow mode would have meant, in reads.
type ShadowCounts struct {
	// Replica is how many would have run on a replica, Primary how many on the
	// primary.
	Replica, Primary uint64
	// Stale is how many a split that only takes replicas in turn would have sent to
	// one that was not known to show what they had to see: their session's own
	// writes, and nothing older than MaxLag.
	Stale uint64
}
