package monitor

import "github.com/readsplit/readsplit/lsn"

// bytesBehind returns how many bytes of log lie between a position and the newest of the
// primary's; 0 where positions do not tell. The caller holds Monitor.mu.
func (m *Monitor) bytesBehind(at lsn.LSN) uint64 {
	p := &m.primary
	switch {
	case p.flush <= at, p.history.Timeline == lsn.ClockTimeline: // which are times
		return 0
	case m.cfg.Bytes != nil:
		return m.cfg.Bytes(at, p.flush)
	}
	return uint64(p.flush - at)
}
