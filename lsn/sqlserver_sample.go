package lsn

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// SQLServerRun is what every login may know of a SQL Server.
type SQLServerRun struct {
	ReadOnly bool // the database takes no writes here: a secondary, or set so
	// AsyncCommit says that commits may be acknowledged before they are hardened
	// (DELAYED_DURABILITY is ALLOWED or FORCED).
	AsyncCommit bool
	Now         time.Time // the server's clock
	Server      string    // SERVERPROPERTY('ServerName')
	Database    string
	started     string
}

// sqlServerTime is style 126 of CONVERT, without a zone.
const sqlServerTime = "2006-01-02T15:04:05.9999999"

// ParseSQLServerRun reads the answer to [SQLServerRunSQL].
func ParseSQLServerRun(text string) (SQLServerRun, error) {
	f := strings.SplitN(text, " ", 6)
	if len(f) != 6 || f[0] != "i1" {
		return SQLServerRun{}, fmt.Errorf("readsplit: run of a SQL Server: %d fields, want 6", len(f))
	}
	r := SQLServerRun{started: f[2]}
	var named bool
	if r.Server, r.Database, named = strings.Cut(f[5], "/"); !named || r.Server == "" || r.Database == "" {
		return SQLServerRun{}, fmt.Errorf("readsplit: run of a SQL Server: field 5 has no server and database")
	}
	switch f[1] {
	case "READ_ONLY":
		r.ReadOnly = true
	case "READ_WRITE":
	default:
		return SQLServerRun{}, fmt.Errorf("readsplit: run of a SQL Server: Updateability is %q, want READ_ONLY or READ_WRITE", f[1])
	}
	switch f[3] {
	case "0":
	case "1", "2":
		r.AsyncCommit = true
	default:
		return SQLServerRun{}, fmt.Errorf("readsplit: run of a SQL Server: delayed_durability is %q, want 0, 1 or 2", f[3])
	}
	var err error
	if r.Now, err = time.Parse(sqlServerTime, f[4]); err != nil {
		return SQLServerRun{}, fmt.Errorf("readsplit: run of a SQL Server: field 4 is no time of style 126")
	}
	if _, err = time.Parse(sqlServerTime, r.started); err != nil {
		return SQLServerRun{}, fmt.Errorf("readsplit: run of a SQL Server: field 2 is no time of style 126")
	}
	return r, nil
}

// SQLServerState is what a replica of an availability group says of one database.
type SQLServerState struct {
	Group   string // group_database_id: the same on every replica
	Primary bool   // it says that it is the primary
	// Follows says that a secondary is what a position may be read on: online, not
	// suspended, and data movement is under way.
	Follows   bool
	Suspended bool
	// Commit is the last commit, on a secondary the last that was redone; 0: not known.
	Commit LSN
	// End is a position that nothing in the log of this server is beyond; 0: not known.
	End LSN
	// recovery is where the log of a primary began when it became one.
	recovery string
	// leader is the name of the server that is the primary now; empty: not known here.
	leader string
}

// ErrSQLServerNoCommit says that the view has no position of the primary, for the
// moment.
var ErrSQLServerNoCommit = errors.New("readsplit: sys.dm_hadr_database_replica_states has no last_commit_lsn for this database")

// ParseSQLServerState reads the answer to [SQLServerStateSQL].
func ParseSQLServerState(text string) (SQLServerState, error) {
	f := strings.SplitN(text, " ", 10)
	if len(f) != 10 || f[0] != "h1" {
		return SQLServerState{}, fmt.Errorf("readsplit: state of a secondary: %d fields, want 10", len(f))
	}
	p := fields{name: "state of a secondary", f: f}
	s := SQLServerState{Group: strings.ToUpper(f[1]), Primary: p.bit(2), Suspended: p.bit(3), recovery: f[8]}
	if len(s.Group) != 36 {
		p.fail(1, "a group_database_id")
	}
	state, sync := p.uint(4), p.uint(5)
	s.Follows = !s.Primary && !s.Suspended && state == 0 && (sync == 1 || sync == 2)
	if f[9] != "-" {
		s.leader = f[9]
	}
	if p.err != nil {
		return SQLServerState{}, p.err
	}
	var err error
	if f[6] != "-" {
		if s.Commit, err = ParseSQLServerLSN(f[6]); err != nil {
			return SQLServerState{}, err
		}
	}
	if f[7] != "-" {
		// What does not fit here is no position of anybody's, and bounds nothing.
		if end, err := ParseSQLServerLSN(f[7]); err == nil && end != 0 {
			s.End = end.endOfBlock()
		}
	}
	if s.Primary && s.Commit == 0 {
		return SQLServerState{}, ErrSQLServerNoCommit
	}
	return s, nil
}

// bit reads a bit, as CONCAT writes it.
func (p *fields) bit(i int) bool {
	switch p.f[i] {
	case "1":
		return true
	case "0":
		return false
	}
	p.fail(i, "0 or 1")
	return false
}

// StandsStill is the timeline that a secondary is said to stream while it follows
// nobody, or nobody knows whom. It is below that of every primary, so that nothing is
// proven by it, and nothing void.
const StandsStill = 1

// SQLServerSample makes a sample of what a server said, for who compares positions: the
// group's database is the system, the primary's name the timeline, and the run of the
// primary, with the place where its log began when it became one, the incarnation.
func SQLServerSample(r SQLServerRun, s SQLServerState) Sample {
	sample := Sample{
		Server:     Server{System: hash("group", s.Group), Addr: r.Server},
		InRecovery: !s.Primary,
		Paused:     s.Suspended && !s.Primary,
	}
	if s.Primary {
		sample.Timeline = timelineOf(s.leader)
		sample.Flush, sample.Insert, sample.End = s.Commit, s.Commit, max(s.End, s.Commit)
		sample.Started = started("primary", r.Server, r.started, s.recovery)
		return sample
	}
	sample.Started = started("secondary", r.Server, r.started)
	sample.Replay = s.Commit
	sample.ReceivedTimeline = StandsStill
	if s.Follows && s.leader != "" && s.Commit != 0 {
		sample.ReceivedTimeline = timelineOf(s.leader)
	}
	return sample
}

// SQLServerSelf is a server without positions: what tells it from others.
func SQLServerSelf(r SQLServerRun) Server {
	return Server{System: hash("database", r.Database), Started: started("alone", r.Server, r.started), Addr: r.Server}
}

// timelineOf numbers primaries by their names. Which number is larger says nothing; two
// names have the same with a chance of 2^-32. 0 for no name.
func timelineOf(leader string) uint32 {
	if leader == "" {
		return 0
	}
	return max(uint32(hash("leader", strings.ToUpper(leader))), StandsStill+1)
}

// started stands for the time at which a server began to be what it is.
func started(parts ...string) int64 {
	return int64(max(hash(parts...)&math.MaxInt64, 1))
}

func hash(parts ...string) uint64 {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return binary.BigEndian.Uint64(sum[:])
}
