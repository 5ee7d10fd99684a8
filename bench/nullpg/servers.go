package nullpg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync/atomic"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/lsn"
)

// Servers are a primary and replicas that have replayed everything at any moment.
type Servers struct {
	catalog Catalog
	system  uint64
	wal     atomic.Uint64 // the primary's position
	ids     atomic.Int64  // of the newest row
	asked   atomic.Uint64 // statements of readsplit itself
}

// Answer is what a query returns.
type Answer struct {
	Columns []string
	Rows    [][]driver.Value
}

// Catalog answers what readsplit asks of a database's catalogue.
type Catalog func(query string) (Answer, error)

// New returns servers with a catalogue, see [Recorded].
func New(catalog Catalog) *Servers {
	// Each is a database cluster of its own: over one, plugins share what was written.
	s := &Servers{catalog: catalog, system: firstSystem + clusters.Add(1)}
	s.wal.Store(1 << 24)
	return s
}

// Asked is how many statements of readsplit itself have come.
func (s *Servers) Asked() uint64 { return s.asked.Load() }

// Primary is the primary's dialector, over a pool of its own.
func (s *Servers) Primary() gorm.Dialector { return s.dialector("primary", false) }

// Replica is the n-th replica's dialector, over a pool of its own.
func (s *Servers) Replica(n int) gorm.Dialector { return s.dialector(fmt.Sprint("replica", n), true) }

func (s *Servers) dialector(name string, standby bool) gorm.Dialector {
	pool := sql.OpenDB(server{Servers: s, name: name, standby: standby})
	pool.SetMaxIdleConns(64)
	pool.SetMaxOpenConns(64)
	return postgres.New(postgres.Config{Conn: pool})
}

// server is one of them; it is the connector of a pool too.
type server struct {
	*Servers
	name    string
	standby bool
}

func (s server) Connect(context.Context) (driver.Conn, error) { return &conn{server: s}, nil }
func (s server) Driver() driver.Driver                        { return s }
func (s server) Open(string) (driver.Conn, error)             { return &conn{server: s}, nil }

const (
	firstSystem = 7_000_000_000_000_000_000
	started     = 1_700_000_000_000_000
)

var clusters atomic.Uint64

func (s server) at() string {
	wal := s.wal.Load()
	return fmt.Sprintf("%X/%X", wal>>32, uint32(wal))
}

// own answers what readsplit itself asks; ok is false for everything else.
func (s server) own(query string) (a Answer, ok bool, err error) {
	var text string
	switch {
	case query == lsn.ReplaySQL:
		text = fmt.Sprintf("r1 %t %s", s.standby, s.at())
	case query == lsn.CaptureSQL:
		text = fmt.Sprintf("c1 %s %s false", s.at(), s.at())
	case query == lsn.ConnectSQL:
		text = fmt.Sprintf("k1 on %t %s %d %d - -", s.standby, s.replay(), s.system, s.began())
	case query == lsn.FullSQL:
		text = s.full()
	case query == lsn.NudgeSQL:
		text = s.at()
	case query == lsn.ConflictsSQL:
		text = "x1 0 0 0 0 0 0"
	case strings.HasPrefix(query, "/* readsplit: catalogue */"):
		s.asked.Add(1)
		a, err = s.catalog(query)
		return a, true, err
	default:
		return Answer{}, false, nil
	}
	s.asked.Add(1)
	return Answer{Columns: []string{"text"}, Rows: [][]driver.Value{{text}}}, true, nil
}

func (s server) replay() string {
	if s.standby {
		return s.at()
	}
	return "-"
}

// began differs from server to server, as the start of their processes does.
func (s server) began() int64 {
	n := int64(started)
	for _, c := range s.name {
		n += int64(c)
	}
	return n
}

func (s server) full() string {
	replay, flush, timeline := s.at(), "-", "-"
	if !s.standby {
		replay, flush, timeline = "-", s.at(), "00000001"
	}
	return fmt.Sprintf("s1 %t %s %s false %s %s %s %s 1 1 %d %d false 200 8192 16777216 1 150018 - - 100 3 0 /%s",
		s.standby, replay, replay, flush, flush, timeline, map[bool]string{true: "1", false: "-"}[s.standby], s.system, s.began(), s.name)
}
