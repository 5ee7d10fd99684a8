package readsplit

import (
	"time"

	"github.com/readsplit/readsplit/retry"
)

// conflictsEvery is how often a replica is asked what replay has cancelled there.
const conflictsEvery = 30 * time.Second

// conflictsOn returns what the replica at a place has counted itself, nil before it was
// asked. A database that was dropped takes its count along.
func (rt *router) conflictsOn(i int) map[retry.ConflictKind]uint64 {
	c, ok := rt.monitor.Conflicts(i)
	if !ok {
		return nil
	}
	return map[retry.ConflictKind]uint64{
		retry.ConflictTablespace: c.Tablespace, retry.ConflictLock: c.Lock, retry.ConflictSnapshot: c.Snapshot,
		retry.ConflictBufferPin: c.BufferPin, retry.ConflictDeadlock: c.Deadlock, retry.ConflictSlot: c.Slot,
	}
}
