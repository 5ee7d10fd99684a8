package otel

import "time"

// shares are what part of the newest reads replicas served, by resolver. The zero
// value has seen none.
type shares map[string][]reads

// reads are the totals at one moment.
type reads struct {
	at               time.Time
	replica, primary uint64
}

// recent is what the share is of; apart is what two remembered moments are apart at
// least, so that collecting more often does not remember more.
const (
	recent = time.Minute
	apart  = time.Second
)

// of returns the share since the newest collection that is a minute old, or since the
// first one where none is; before there were two, since the beginning. ok is false
// where there was no read.
func (s *shares) of(resolver string, now time.Time, replica, primary uint64) (share float64, ok bool) {
	if *s == nil {
		*s = shares{}
	}
	seen := (*s)[resolver]
	for len(seen) > 1 && now.Sub(seen[1].at) >= recent {
		seen = seen[1:]
	}
	var since reads
	if len(seen) > 0 && seen[0].replica <= replica && seen[0].primary <= primary {
		since = seen[0]
	}
	if len(seen) == 0 {
		seen = append(seen, reads{at: now}) // of the time before, all of it counts
	}
	if now.Sub(seen[len(seen)-1].at) >= apart {
		seen = append(seen, reads{now, replica, primary})
	}
	(*s)[resolver] = seen
	fromReplicas, fromPrimary := replica-since.replica, primary-since.primary
	if all := fromReplicas + fromPrimary; all > 0 {
		return float64(fromReplicas) / float64(all), true
	}
	return 0, false
}
