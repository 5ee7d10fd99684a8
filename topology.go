package readsplit

import (
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/retry"
)

// noticed takes in how a statement on the primary ended, and returns it. A
// connection that broke and a write that was refused as read-only are what a change
// of primary looks like from here: whoever could be the primary is asked at once,
// and not when the next sample is due.
func (rt *router) noticed(err error) error {
	if err == nil || !rt.watched || rt.rehearsal != nil {
		return err
	}
	if v := retry.OfRead(err); v.ServerSuspect || v.CountsAsWrite {
		if rt.follow != nil {
			rt.follow.watch.Poke()
		}
		rt.monitor.AskPrimary()
	}
	return err
}

// settingsChanged takes in what was set on a connection to the primary.
func (rt *router) settingsChanged(s settings) {
	for name := range s {
		if name == "synchronous_commit" {
			plugins.commitAsync(rt) // as a SET that passes through
		}
	}
}

// writtenIn returns the history that a write belongs to which was acknowledged just
// now: the one that was known when it began. A connection to an old primary is
// broken off before the new one is asked for its history, so a write that began
// after that cannot have been acknowledged by the old one; one that began before may
// have been, and must not be taken for a write of the new history.
func (rt *router) writtenIn(began lsn.History) lsn.History {
	if h := rt.history(); began.Zero() || began.System != h.System {
		return h
	}
	return began
}
