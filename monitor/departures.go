package monitor

import (
	"slices"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// departures are the runs of servers that a name has led to before, the newest last. The
// one before this is not enough: a sampler and a reader in turns behind a name of three
// servers would never come back to it, and the name would seem to move on for ever; and
// a connection can be from before the last move but one.
type departures []departure

type departure struct {
	server lsn.Server
	at     time.Time // when it was noticed
}

// mostLeft bounds how many are remembered.
const mostLeft = 16

// when is when a run was left last; zero: it was not, or nobody remembers.
func (d departures) when(s lsn.Server) time.Time {
	for _, one := range slices.Backward(d) {
		if one.server.System == s.System && one.server.Started == s.Started {
			return one.at
		}
	}
	return time.Time{}
}

func (d *departures) add(s lsn.Server) {
	if len(*d) == mostLeft {
		*d = slices.Delete(*d, 0, 1)
	}
	*d = append(*d, departure{s, time.Now()})
}
