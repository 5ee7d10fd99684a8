package redisstore

import "sync/atomic"

// Stats are the numbers of a [Store] in this process.
type Stats struct {
	// Loads and Advances are the calls; an Advance that has nothing to say is none.
	Loads, Advances uint64
	// LoadFailures and AdvanceFailures are those that failed, Timeouts those of them
	// to which Redis gave no answer in time.
	LoadFailures, AdvanceFailures, Timeouts uint64
	// Unsure is how many Loads were answered with "unsure" because something may have
	// been lost.
	Unsure uint64
	// Losses are how often this process was the first to notice that a bucket of users
	// (of 256) may have lost something.
	Losses Losses
	// Blind is how many Loads were answered by a server that does not say who it is:
	// grant the right to INFO.
	Blind uint64
	// Owed is how many buckets have users of whom an Advance has failed, and other
	// processes cannot be told yet.
	Owed int
}

// Losses are losses by how they were noticed.
type Losses struct {
	// Empty: there was no marker. It is also what a store finds that is used for the
	// first time.
	Empty uint64
	// History: the server is another one, or was restarted.
	History uint64
	// Evicted: the server has evicted keys.
	Evicted uint64
	// Reported: an Advance of this process had failed.
	Reported uint64
}

type counters struct {
	loads, advances, loadFailures, advanceFailures, timeouts, unsure atomic.Uint64
	empty, history, evicted, reported, blind                         atomic.Uint64
}

// noticed counts what a call has noticed.
func (c *counters) noticed(why string) {
	switch why {
	case "empty":
		c.empty.Add(1)
	case "history":
		c.history.Add(1)
	case "evicted":
		c.evicted.Add(1)
	case "blind":
		c.blind.Add(1)
	}
}

// Stats returns the numbers of s.
func (s *Store) Stats() Stats {
	return Stats{
		Loads: s.loads.Load(), Advances: s.advances.Load(),
		LoadFailures: s.loadFailures.Load(), AdvanceFailures: s.advanceFailures.Load(), Timeouts: s.timeouts.Load(),
		Unsure: s.unsure.Load(), Blind: s.blind.Load(), Owed: s.debts.count(),
		Losses: Losses{Empty: s.empty.Load(), History: s.history.Load(), Evicted: s.evicted.Load(), Reported: s.reported.Load()},
	}
}
