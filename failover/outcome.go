package failover

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// State is what an election came to.
type State string

// States of an election.
const (
	Unknown    State = "unknown"    // no host has said yet that it is a primary
	Elected    State = "elected"    // one server is the primary
	Lost       State = "lost"       // the one that was elected does not answer, and no other took over
	Tied       State = "tied"       // two servers are primaries of the highest timeline
	Superseded State = "superseded" // every primary that is known is older than one that was seen
)

// Outcome is the result of one election.
type Outcome struct {
	State State
	// Leader is the host that is, or was last, elected; -1: none ever was. Server is
	// the run of a server that it was, Timeline the timeline that it writes.
	Leader   int
	Server   lsn.Server
	Timeline uint32
	// Highest is the highest timeline that was ever seen. Nothing below it is
	// written to.
	Highest uint32
	// Rivals are the hosts of a tie.
	Rivals []int
	// Refused are hosts that are primaries of a lower timeline, Foreign those that
	// belong to another database cluster.
	Refused, Foreign []int
	// Moves counts how often another server, or another run of the same one, was
	// elected in the place of the one before.
	Moves uint64
	// Unsettled says that one more answer of everybody will tell a tie from a server
	// that has restarted.
	Unsettled bool
}

// Errors of statements that need the primary while there is none to send them to.
// Nothing was sent. Test with errors.Is.
var (
	// ErrTwoPrimaries: two servers write the same timeline. Stop one of them, or make
	// it a standby of the other.
	ErrTwoPrimaries = errors.New("readsplit: two primaries")
	// ErrOldPrimary: the only primary that is known writes an older timeline than was
	// seen. Name the host of the newer one, or restart this process where that
	// timeline was given up.
	ErrOldPrimary = errors.New("readsplit: only an old primary is known")
	// ErrNoPrimary: no host has said yet that it is a primary.
	ErrNoPrimary = errors.New("readsplit: no primary is known")
	// ErrMoved: the primary changed while a statement was under way on the one
	// before, where it may have been carried out. What was written there may be lost.
	ErrMoved = errors.New("readsplit: the primary has changed; whether the one before has carried out the statement is not known")
)

// refusal is an error of a statement that was not sent.
type refusal struct {
	kind error
	text string
}

func (r *refusal) Error() string { return r.kind.Error() + ": " + r.text }

func (r *refusal) Unwrap() error { return r.kind }

// SafeToRetry says that nothing was sent.
func (r *refusal) SafeToRetry() bool { return true }

// Err returns why nothing may be sent to a primary, nil where it may. names are the
// hosts' names.
func (o *Outcome) Err(names []string) error {
	name := func(i int) string { return fmt.Sprintf("%q", names[i]) }
	list := func(hosts []int) string {
		var all []string
		for _, i := range hosts {
			all = append(all, name(i))
		}
		return strings.Join(all, " and ")
	}
	switch o.State {
	case Tied:
		return &refusal{ErrTwoPrimaries, fmt.Sprintf("%s are both primaries and write timeline %d; nothing is sent to either until one of them is stopped, or made a standby of the other", list(o.Rivals), o.Highest)}
	case Superseded:
		old := o.Refused
		if len(old) == 0 {
			old = []int{o.Leader}
		}
		return &refusal{ErrOldPrimary, fmt.Sprintf("timeline %d has been seen, which %s does not write; add the host of its primary to those that are followed, or restart this process if that timeline was given up", o.Highest, list(old))}
	case Unknown:
		return &refusal{ErrNoPrimary, fmt.Sprintf("none of %s says that it is one; promote one of them, or correct the addresses", list(all(names)))}
	default:
		return nil
	}
}

func all(names []string) []int {
	hosts := make([]int, len(names))
	for i := range hosts {
		hosts[i] = i
	}
	return hosts
}

// Status is what a [Watch] knows.
type Status struct {
	State State
	// Primary is the name of the host that is, or was last, elected; empty: none
	// ever was. Timeline is what it writes.
	Primary  string
	Timeline uint32
	// Moves counts the changes of primary.
	Moves uint64
	Hosts []HostStatus
}

// Follows reports whether the replica of this name was promoted and is the primary that
// is followed. The hosts of a DSN have no names of replicas: there it is the only primary
// there is.
func (s *Status) Follows(replica string) bool {
	if s.State != Elected {
		return false
	}
	primaries := 0
	for i := range s.Hosts {
		if s.Hosts[i].Name == replica {
			return s.Primary == replica
		}
		if s.Hosts[i].Primary {
			primaries++
		}
	}
	return primaries == 1
}

// HostStatus is one host's part of [Status].
type HostStatus struct {
	Name string
	// Answered is when the question was sent that it answered last; zero: never.
	Answered time.Time
	// Primary says that it was no standby then. Timeline is what it wrote, or
	// streamed where its role may see that; 0: not known.
	Primary  bool
	Timeline uint32
	// Refused: it is a primary of an older timeline. Foreign: it belongs to another
	// database cluster. Nothing is sent to either.
	Refused, Foreign bool
}
