package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/readsplit/readsplit/lsn"
)

// facts are what is known of one server: its DSN, and what it answered. A part that
// was not answered is zero, and its question is in refused.
type facts struct {
	name    string
	primary bool   // declared as one
	host    string // of several hosts of one DSN, which
	cfg     *pgx.ConnConfig
	timeout time.Duration
	conn    *pgconn.PgConn

	dialed  error  // why there was no connection
	lost    string // why it no longer answered; empty: it did
	refused []refusal

	about        about
	serializable bool // it could be asked only after another isolation was set
	sample       lsn.Sample
	settings     map[string]setting
	standbys     []standby // of pg_stat_replication
	slots        []slot
	receiver     *receiver
	archiver     archiver
	idle         []transaction
	conflicts    map[string]int64
	connections  int
	through      through
}

// refusal is a question that was not answered.
type refusal struct {
	what  string // for people
	code  string // SQLSTATE
	why   string
	asked bool // readsplit asks it too
}

// about is what any user may ask of any server.
type about struct {
	Recovery bool   `json:"recovery"`
	Database string `json:"database"`
	User     string `json:"user"`
	Version  string `json:"version"`
	Number   int    `json:"number"`  // server_version_num
	Started  int64  `json:"started"` // microseconds since 1970
	Cluster  string `json:"cluster"` // cluster_name
	PID      int    `json:"pid"`     // of the backend
	// Monitor: the user sees the columns that are hidden from others.
	Monitor bool `json:"monitor"`
	// Emit: the user may write the small message that shows a quiet primary's position.
	Emit bool `json:"emit"`
}

type setting struct {
	Value  string `json:"value"` // in the setting's own unit
	Source string `json:"source"`
}

type standby struct {
	Name  string `json:"name"`
	State string `json:"state"` // empty: hidden
	Sync  string `json:"sync"`
}

type slot struct {
	Name   string  `json:"name"`
	Active bool    `json:"active"`
	Status string  `json:"status"` // wal_status
	Kept   float64 `json:"kept"`   // bytes
}

type receiver struct {
	Timeline uint32 `json:"timeline"` // 0: hidden
	Host     string `json:"host"`
	Port     int    `json:"port"`
}

type archiver struct {
	Failed int64  `json:"failed"`
	Last   string `json:"last"` // the file that failed, where nothing was archived since
}

type transaction struct {
	PID   int     `json:"pid"`
	User  string  `json:"user"`
	State string  `json:"state"`
	Age   float64 `json:"age"` // seconds
}

func newFacts(name string, primary bool, cfg *pgx.ConnConfig, timeout time.Duration) *facts {
	return &facts{name: name, primary: primary, cfg: cfg, timeout: timeout}
}

// answered reports whether the server could be asked who it is.
func (f *facts) answered() bool { return f.dialed == nil && f.about.Number > 0 }

// timeline is what a primary writes and a standby receives or has proven.
func (f *facts) timeline() uint32 {
	switch {
	case !f.about.Recovery:
		return f.sample.Timeline
	case f.sample.ReceivedTimeline != 0:
		return f.sample.ReceivedTimeline
	}
	return f.sample.ControlTimeline
}

// value is a setting of the session in its own unit, 0 where it is none.
func (f *facts) value(name string) int64 {
	var n int64
	if err := json.Unmarshal([]byte(f.settings[name].Value), &n); err != nil {
		return 0
	}
	return n
}

// millis is a setting in milliseconds; negative means for ever.
func (f *facts) millis(name string) time.Duration {
	return time.Duration(f.value(name)) * time.Millisecond
}

func (f *facts) close() {
	if f.conn != nil {
		hangUp(f.conn)
	}
}

// gather connects and asks everything that is asked once.
func (f *facts) gather(ctx context.Context, t Topology) {
	if f.conn, f.dialed = dial(ctx, f.cfg, f.timeout); f.dialed != nil {
		return
	}
	if !f.introduce(ctx) {
		return // nothing else will work either
	}
	f.readsplit(ctx)
	f.json(ctx, "pg_settings", settingsSQL, &f.settings)
	f.json(ctx, "pg_stat_replication", standbysSQL, &f.standbys)
	f.json(ctx, "pg_replication_slots", slotsSQL, &f.slots)
	f.json(ctx, "pg_stat_activity", longSQL(t.LongTransaction), &f.idle)
	f.json(ctx, "pg_stat_database", connectionsSQL, &f.connections)
	if f.about.Recovery {
		f.json(ctx, "pg_stat_wal_receiver", receiverSQL, &f.receiver)
		f.json(ctx, "pg_stat_database_conflicts", conflictsSQL, &f.conflicts)
	} else {
		f.json(ctx, "pg_stat_archiver", archiverSQL, &f.archiver)
	}
	f.lookThrough(ctx, t.Looks)
}

// introduce asks who the server is. A standby answers nothing at all to a session
// whose default is SERIALIZABLE, which is then set aside.
func (f *facts) introduce(ctx context.Context) bool {
	if f.json(ctx, "who it is", aboutSQL, &f.about) {
		return true
	}
	if f.refused[0].code == "0A000" {
		f.serializable, f.refused = true, nil
		_, err := ask(ctx, f.conn, f.timeout, "SET default_transaction_isolation = 'read committed'")
		if err == nil && f.json(ctx, "who it is", aboutSQL, &f.about) {
			return true
		}
	}
	f.dialed = errors.New("it answers nothing")
	if len(f.refused) > 0 {
		f.dialed = errors.New(f.refused[0].why)
	}
	return false
}

// json asks for one value and reads it; NULL and no row leave it as it is. It
// reports false when the question was not answered.
func (f *facts) json(ctx context.Context, what, query string, into any) bool {
	text, err := ask(ctx, f.conn, f.timeout, query)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), into)
	}
	if err != nil {
		f.refuse(what, err, false)
		return false
	}
	return true
}

func (f *facts) refuse(what string, err error, asked bool) {
	f.refused = append(f.refused, refusal{what, sqlstate(err), redacted(reason(err), f.cfg.Password), asked})
}
