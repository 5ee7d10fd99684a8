package monitor

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// Source asks one server. A Monitor calls a Source from one goroutine at a
// time. Sample connects if there is no connection, and no other method does.
// Every method honours ctx, and after an error drops its connection, so that the
// next sample starts on a new one: a connection is the proof that two answers
// come from one run of the server.
type Source interface {
	// Sample asks with lsn.FullSQL. fresh reports that the answer came over a
	// connection that was opened for this call.
	Sample(ctx context.Context) (s lsn.Sample, fresh bool, err error)
	// Position asks a standby with lsn.ReplaySQL; standby is false when the
	// server is no longer in recovery. connected is false, and nothing is
	// asked, when there is no connection.
	Position(ctx context.Context) (replay lsn.LSN, standby, connected bool, err error)
	// Capture asks a primary with lsn.CaptureSQL; connected as for Position.
	Capture(ctx context.Context) (c lsn.Capture, connected bool, err error)
	// Nudge runs lsn.NudgeSQL on a primary, and does nothing when there is no
	// connection.
	Nudge(ctx context.Context) error
	// Close drops the connection.
	Close() error
}

// Renewer is a Source that can be asked to open another connection with the next
// Sample: a name may have moved to another server while the old one still answers.
type Renewer interface{ Renew() }

// Target is one server to watch.
type Target struct {
	Name   string
	Zone   string
	Weight int
	Groups []string
	// AllowPrimary accepts a replica that is not in recovery.
	AllowPrimary bool
	// Logical says that the replica is fed by logical replication: another database
	// cluster, which is no standby and has no positions. Nothing is known of its age.
	Logical bool
	// Reserved keeps the replica for the reads of its groups.
	Reserved bool
	// Balanced says that the name answers as several servers. Where it is not said it
	// is found out, see StateBalanced.
	Balanced bool
	// StatedLag is how far behind the server is at most where it does not tell its
	// position; 0: not stated, and such a server is not proven to show anything.
	StatedLag time.Duration
	Source    Source
}

// Config says what to watch and how. All durations are positive.
type Config struct {
	Primary  Target
	Replicas []Target

	SampleEvery   time.Duration // pause between two samples of one server, jittered by a tenth
	SampleTimeout time.Duration // the most that one question may take
	MaxLag        time.Duration // decides when a nudge is due
	// Window is for how long a server that tells no position is not trusted to show a
	// write; longer than any StatedLag.
	Window  time.Duration
	MaxWait time.Duration // the longest wait that anybody makes for a replica

	// Bytes says how many bytes of log lie between two positions, of which the second is
	// larger; 0 where they do not tell. nil: their difference.
	Bytes func(from, to lsn.LSN) uint64

	// IdleSampleEvery takes SampleEvery's place when for 3 s nothing has called Use or
	// NextCapture and UnderWay, which may be nil, has said no; not above SampleEvery: it
	// does not. MaxSampleAge is how old news may be that Rouse does not wait for better.
	IdleSampleEvery time.Duration
	MaxSampleAge    time.Duration
	UnderWay        func() bool

	// NoServerWait keeps Sources from being asked to wait for a position (see Waiter).
	NoServerWait bool

	// ConflictsEvery is how often a replica whose Source is a ConflictSource is asked
	// what replay has cancelled there, when nobody waits for its position; 0: never.
	ConflictsEvery time.Duration

	// Nudge allows the monitor to commit one small message on the primary, at
	// most once a second, when a healthy replica is about to be thrown out only
	// because a quiet primary left a WAL record unfinished (see lsn.NudgeSQL).
	Nudge bool

	// Health says when a replica on which reads fail is left alone.
	Health Health

	// OnVoid is told that whatever was found out about replica i on a connection
	// opened at a generation below the given one is void: that connection is to
	// another server, or to a run that has ended. It is called while the news are
	// being written, before anybody can read them, and must call nothing here.
	OnVoid func(i int, generation uint64)
	// OnChange is told of every change of a server's state. It is called from the
	// monitor's goroutines and from those that call Connected and Suspect, at the
	// same time too, and must not block.
	OnChange func(Change)
	// BeforeSample is called before each regular sample of the primary, so that
	// what has been committed until then, and was not noticed yet, can ask for that
	// very capture: a later one would cover what was written meanwhile too. It must
	// not block.
	BeforeSample func()
	// OnCapture, if not nil, is told of every question to the primary for its position
	// alone: those that somebody waits for. It must not block.
	OnCapture func(began time.Time, err error)
	// OnDead is told that replica i is gone, so that what runs there can be
	// broken off; OnAlive that it answers again.
	OnDead, OnAlive func(i int)

	// Seed feeds the jitter.
	Seed uint64
}

// Change is one change of one server's state.
type Change struct {
	Server string
	// Replica is the index of the replica, -1 for the primary.
	Replica int
	// State is one of the State constants.
	State State
	// Err is why, where an error is the reason.
	Err error
}

// State is what a server has become.
type State string

// States of a server, as they appear in logs.
const (
	StateEjected    State = "ejected"     // answers, but reads fail there one after the other
	StateReadmitted State = "readmitted"  // a read has succeeded there again
	StateDrained    State = "drained"     // taken out of service by an operator
	StateResumed    State = "resumed"     // put back into service
	StateRemoved    State = "removed"     // no longer a replica
	StateUp         State = "up"          // answers, and is what it should be
	StateSuspect    State = "suspect"     // one probe failed, or a connection broke
	StateDown       State = "down"        // does not answer
	StateWritable   State = "writable"    // configured as a replica, but it is not in recovery
	StateStandby    State = "standby"     // configured as the primary, but it is in recovery
	StateNotLogical State = "not_logical" // configured as fed by logical replication, but of the primary's own cluster
	StateForeign    State = "foreign"     // follows another history than the primary's
	StateProven     State = "proven"      // follows the primary's history
	StateRegressed  State = "regressed"   // came back in an older state than it had shown
	StateRestarted  State = "restarted"   // another run of the server answers
	StateBalanced   State = "balanced"    // one name, several servers
	StateNoPosition State = "no_position" // does not tell where it is; Err: and nothing is stated of it
	StatePaused     State = "paused"      // an administrator has paused replay
	StateReplays    State = "replays"     // replay goes on
	StateCutOff     State = "cut_off"     // receives nothing, and the primary has more
	StateReceives   State = "receives"    // receives again
	StateLagging    State = "lagging"     // its staleness is over MaxLag, or has no bound
	StateWithinLag  State = "within_lag"  // within MaxLag again
	StateNewHistory State = "new_history" // the primary changed its timeline, its run or its identity
)
