package monitor

import "github.com/readsplit/readsplit/lsn"

// lineage judges whether a replica's positions may be compared with the
// primary's. Equal numbers do not mean equal writes: after a promotion a
// standby of the loser goes on replaying its own upstream, and a primary that
// was restored from a snapshot writes again at positions that its former
// standbys have long passed, with other content.
type lineage struct {
	history lsn.History // the primary's, that the verdict is about
	server  lsn.Server  // the replica's run, that the verdict is about
	streams uint32      // newest timeline that this run was seen to stream
	verdict verdict
	// base must be passed before a replica that was found beyond the primary is
	// trusted again: having moved past it proves that it replayed something
	// that this primary wrote.
	base lsn.LSN
	// fork says that another server of the cluster writes another history: what is not
	// seen to stream the primary's may follow that one.
	fork bool
}

type verdict uint8

const (
	unproven verdict = iota
	proven
	foreign
)

// judge updates the verdict from a sample of the replica and the newest insert
// position of the primary. insertIsLater says that the insert position was
// captured after the sample had been taken, so that a replica of this primary
// cannot be beyond it.
func (l *lineage) judge(h lsn.History, s *lsn.Sample, insert lsn.LSN, insertIsLater bool) verdict {
	if l.server.System != s.System || l.server.Started != s.Started {
		// A new run may have been cloned anew or may hold the same foreign data:
		// base stays, because nothing has shown the latter wrong.
		l.server, l.streams, l.verdict = s.Server, 0, unproven
	}
	if l.history != h {
		l.history, l.verdict = h, unproven
	}
	if s.ReceivedTimeline != 0 {
		l.streams = s.ReceivedTimeline
	}
	if h.Zero() || s.System == 0 {
		l.verdict = unproven
		return l.verdict
	}
	if s.System != h.System {
		l.verdict = foreign
		return l.verdict
	}
	// The timeline that is streamed is right at once; the control file is right
	// only about having reached a timeline, minutes later.
	tli := l.streams
	if tli == 0 {
		tli = s.ControlTimeline
	}
	tli = max(tli, s.ControlTimeline)
	switch {
	case tli > h.Timeline:
		l.verdict = foreign
		return l.verdict
	case tli < h.Timeline:
		l.verdict = unproven
		return l.verdict
	}

	if l.fork && l.streams == 0 {
		l.verdict = unproven
		return l.verdict
	}
	reached := max(s.Replay, s.Receive)
	switch {
	case reached > insert && insertIsLater:
		l.verdict, l.base = foreign, max(l.base, reached)
	case reached > insert:
		// The primary may have written since it was asked. What was proven
		// stays proven; what was not waits for the next capture.
	case s.Replay <= l.base:
		// It has not moved since it was found beyond the primary.
		if l.verdict == proven {
			l.verdict = unproven
		}
	default:
		l.verdict, l.base = proven, 0
	}
	return l.verdict
}
