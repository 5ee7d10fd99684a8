package lsn

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Server identifies one running server process group: it changes when the
// server restarts and when another server answers at the same name. It does not
// change when a postmaster reinitialises after a backend was killed: that shows
// only in a replay position that went back.
type Server struct {
	System  uint64 // system identifier
	Started int64  // postmaster start, microseconds since 1970
	Addr    string // address that the server sees the connection on; "" for a Unix socket
	Port    int    // 0 for a Unix socket
}

// Sample is what a server said of itself at one moment.
type Sample struct {
	Server
	InRecovery bool

	// Replay is the end of the last replayed record; 0 on a primary.
	Replay LSN
	// Receive is the end of the WAL that was received and flushed; 0 when
	// unknown (a primary, or a standby whose receiver never ran).
	Receive LSN
	// Paused says that an administrator paused replay.
	Paused bool

	// Flush and Insert are a primary's positions; 0 on a standby. Insert is
	// corrected at page edges (see [LSN.RecordEnd]).
	Flush, Insert LSN
	// End, unless 0, is what no server of this history is beyond, where that is not
	// Insert: a secondary of SQL Server may have redone a commit that its primary still
	// waits with, because of another secondary.
	End LSN
	// Timeline is, on a primary, the timeline that it writes.
	Timeline uint32
	// ReceivedTimeline is the timeline that a standby streams; 0 when no
	// receiver runs or the role may not see it.
	ReceivedTimeline uint32
	// ControlTimeline is the newest timeline that a standby's control file
	// proves; it can be minutes late and is never ahead.
	ControlTimeline uint32

	// AsyncCommit says, on a primary, that commits may be acknowledged before they
	// are flushed.
	AsyncCommit    bool
	WalWriterDelay time.Duration
	BlockSize      uint64 // bytes
	SegmentSize    uint64 // bytes
	BackendPID     int
	Version        int // server_version_num, for instance 150018
	ClusterName    string

	// Pooled says that the process which answered is not the one that the connection
	// was made to: a pooler stands in between, and may ask another server next. It is
	// set by whoever asks.
	Pooled bool

	// MaxConnections is the server's limit, and Reserved how many of them are kept
	// for superusers and, from PostgreSQL 16 on, for pg_use_reserved_connections.
	MaxConnections, Reserved int
}

// History is the history that a primary writes.
func (s *Sample) History() History {
	return History{System: s.System, Timeline: s.Timeline, Incarnation: s.Started}
}

// sampleFields is the number of blank-separated fields in FullSQL's answer.
const sampleFields = 25

// ParseSample reads the answer to [FullSQL] or [BareSQL].
func ParseSample(text string) (Sample, error) {
	// The cluster name comes last, after a slash: it may hold blanks.
	f := strings.SplitN(text, " ", sampleFields)
	bare := f[0] == "s0"
	if len(f) != sampleFields || f[0] != "s1" && !bare || !strings.HasPrefix(f[sampleFields-1], "/") {
		return Sample{}, fmt.Errorf("readsplit: sample of a server: %d fields, want %d", len(f), sampleFields)
	}
	p := fields{name: "sample of a server", f: f}
	s := Sample{
		InRecovery:       p.boolean(1),
		Replay:           p.lsn(2),
		Receive:          p.lsn(3),
		Paused:           p.boolean(4),
		Flush:            p.lsn(5),
		Insert:           p.lsn(6),
		Timeline:         p.hex(7),
		ReceivedTimeline: p.hex(8),
		ControlTimeline:  max(p.hex(9), p.hex(10)),
		AsyncCommit:      p.boolean(13),
		WalWriterDelay:   p.millis(14),
		BlockSize:        p.uint(15),
		SegmentSize:      p.uint(16),
		BackendPID:       int(p.uint(17)),
		Version:          int(p.uint(18)),
		MaxConnections:   p.count(21),
		Reserved:         p.count(22) + p.count(23),
		ClusterName:      f[24][1:],
	}
	s.Server = p.server(11)
	s.Addr, s.Port = p.addr(19)
	s.Insert = s.Insert.RecordEnd(s.BlockSize, s.SegmentSize)
	if p.err == nil && !s.InRecovery && !bare && (s.Flush == 0 || s.Insert == 0 || s.Timeline == 0) {
		p.err = fmt.Errorf("readsplit: sample of a primary without a position or a timeline")
	}
	return s, p.err
}

// Capture is a primary's position at one moment.
type Capture struct {
	Flush, Insert LSN // Insert is corrected at page edges
	End           LSN // as in Sample
	AsyncCommit   bool
}

// ParseCapture reads the answer to [CaptureSQL]; block and segment are the
// server's BlockSize and SegmentSize.
func ParseCapture(text string, block, segment uint64) (Capture, error) {
	f := strings.Split(text, " ")
	if len(f) != 4 || f[0] != "c1" {
		return Capture{}, fmt.Errorf("readsplit: capture of a primary: %d fields, want 4", len(f))
	}
	p := fields{name: "capture of a primary", f: f}
	c := Capture{Flush: p.lsn(1), Insert: p.lsn(2).RecordEnd(block, segment), AsyncCommit: p.boolean(3)}
	if p.err == nil && (c.Flush == 0 || c.Insert == 0) {
		p.err = fmt.Errorf("readsplit: capture of a primary without a position")
	}
	return c, p.err
}

// ParseReplay reads the answer to [ReplaySQL]. standby is false when the server
// is no longer in recovery; replay is then meaningless.
func ParseReplay(text string) (replay LSN, standby bool, err error) {
	f := strings.Split(text, " ")
	if len(f) != 3 || f[0] != "r1" {
		return 0, false, fmt.Errorf("readsplit: replay position: %d fields, want 3", len(f))
	}
	p := fields{name: "replay position", f: f}
	standby, replay = p.boolean(1), p.lsn(2)
	return replay, standby, p.err
}

// Connect is what a new connection to a replica reached.
type Connect struct {
	Server
	InRecovery bool
	Replay     LSN
}

// ParseConnect reads the answer to [ConnectSQL] or [BareConnectSQL].
func ParseConnect(text string) (Connect, error) {
	f := strings.Split(text, " ")
	if len(f) != 8 || f[0] != "k1" {
		return Connect{}, fmt.Errorf("readsplit: new connection: %d fields, want 8", len(f))
	}
	p := fields{name: "new connection", f: f}
	if f[1] != "on" {
		return Connect{}, fmt.Errorf("readsplit: new connection: default_transaction_read_only is %q, want on", f[1])
	}
	c := Connect{InRecovery: p.boolean(2), Replay: p.lsn(3), Server: p.server(4)}
	c.Addr, c.Port = p.addr(6)
	return c, p.err
}

// fields parses numbered fields and keeps the first error.
type fields struct {
	name string
	f    []string
	err  error
}

func (p *fields) fail(i int, want string) {
	if p.err == nil {
		p.err = fmt.Errorf("readsplit: %s: field %d is %q, want %s", p.name, i, p.f[i], want)
	}
}

func (p *fields) boolean(i int) bool {
	switch p.f[i] {
	case "true", "t":
		return true
	case "false", "f":
		return false
	}
	p.fail(i, "a boolean")
	return false
}

func (p *fields) lsn(i int) LSN {
	if p.f[i] == "-" {
		return 0
	}
	l, err := ParseLSN(p.f[i])
	if err != nil {
		p.fail(i, "a pg_lsn")
	}
	return l
}

func (p *fields) hex(i int) uint32 {
	if p.f[i] == "-" {
		return 0
	}
	n, ok := hex32(p.f[i])
	if !ok {
		p.fail(i, "a hexadecimal timeline")
	}
	return n
}

func (p *fields) uint(i int) uint64 {
	n, err := strconv.ParseUint(p.f[i], 10, 63)
	if err != nil {
		p.fail(i, "a whole number")
	}
	return n
}

// millis reads a duration in milliseconds. PostgreSQL allows 10 s here; what does
// not fit a Duration would come out negative and shorten the lag it is added to.
func (p *fields) millis(i int) time.Duration {
	n := p.uint(i)
	if n > uint64(time.Hour/time.Millisecond) {
		p.fail(i, "milliseconds")
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

// count reads a number of connections, of which PostgreSQL allows less than 2^18.
func (p *fields) count(i int) int {
	n := p.uint(i)
	if n > 1<<18 {
		p.fail(i, "a number of connections")
		return 0
	}
	return int(n)
}

// server reads a system identifier and a start time.
func (p *fields) server(i int) Server {
	// The identifier is an unsigned number that PostgreSQL prints as bigint.
	id, err := strconv.ParseInt(p.f[i], 10, 64)
	if err != nil || p.f[i][0] == '+' {
		p.fail(i, "a system identifier")
	}
	return Server{System: uint64(id), Started: int64(p.uint(i + 1))}
}

// addr reads an address and a port, both "-" on a Unix socket.
func (p *fields) addr(i int) (string, int) {
	if p.f[i] == "-" {
		return "", 0
	}
	return p.f[i], int(p.uint(i + 1))
}
