package readsplit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/sqlclass"
)

// sqlServer asks SQL Servers. There are two kinds of positions there: those of the
// availability group's views, and the numbers of a marker table. Where neither can be
// had, time alone decides, as for any server that tells no position: the window after a
// write, and what Replica.StatedLag says. See decision 0023.
type sqlServer struct {
	given lsn.SQLServer
	warn  func(format string, args ...any)

	mu     sync.Mutex
	system uint64          // of the primary's positions
	why    string          // why there are no positions; empty: there are, or nobody knows yet
	told   map[string]bool // what is said once
}

func newSQLServer(c Config, warn func(format string, args ...any)) *sqlServer {
	return &sqlServer{given: c.SQLServer, warn: warn, told: make(map[string]bool)}
}

// dialTimeout bounds the opening of a connection: the driver follows a listener's
// redirects for as long as there are any, and a listener may route to itself.
const dialTimeout = 15 * time.Second

func (d *sqlServer) primary() engine                        { return &sqlServerPrimary{sqlServerAsker{d: d}} }
func (*sqlServer) dialect() sqlclass.Dialect                { return sqlclass.SQLServer }
func (d *sqlServer) sticky() bool                           { return d.given.Marker == "" }
func (*sqlServer) nudges() bool                             { return false }
func (*sqlServerAsker) dials() time.Duration                { return dialTimeout }
func (*sqlServerAsker) nudge(context.Context, asking) error { return nil }

func (d *sqlServer) replica(r Replica) engine {
	return &sqlServerReplica{sqlServerAsker: sqlServerAsker{d: d, name: r.Name}, several: r.Balanced}
}

// without returns why there are no positions; empty: there are.
func (d *sqlServer) without() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.why
}

// once says something once, for each what.
func (d *sqlServer) once(what, format string, args ...any) {
	d.mu.Lock()
	said := d.told[what]
	d.told[what] = true
	d.mu.Unlock()
	if !said {
		d.warn("readsplit: "+format, args...)
	}
}

// found takes in what positions the primary has; why is empty where it has some.
func (d *sqlServer) found(system uint64, why string) {
	d.mu.Lock()
	d.system, d.why = system, why
	d.mu.Unlock()
	if why != "" {
		d.once(why, "SQL Server gives no positions (%s): after a write its session reads from the primary for Config.StickyWindow, and how old a replica is rests on Replica.StatedLag, without which it serves AnyReplica and Stale alone; let the positions be read, or set Config.SQLServer.Marker", why)
	}
}

// sqlServerAsker is what asks a primary and what asks a replica have in common.
type sqlServerAsker struct {
	d    *sqlServer
	name string

	mu   sync.Mutex
	last lsn.Sample       // of a primary
	run  lsn.SQLServerRun // that it is of
	next time.Time        // when the views are asked again that could not be read
	none string           // why they could not
}

func (a *sqlServerAsker) ask(ctx context.Context, ask asking) (lsn.SQLServerRun, error) {
	text, err := ask(ctx, lsn.SQLServerRunSQL)
	if err != nil {
		return lsn.SQLServerRun{}, err
	}
	return lsn.ParseSQLServerRun(text)
}

func (*sqlServerAsker) conflicts(context.Context, asking) (lsn.Conflicts, error) {
	return lsn.Conflicts{}, sql.ErrNoRows // nobody counts them there
}

// askAgainAfter is how often views that could not be read are tried: each time is an
// error in somebody's trace.
const askAgainAfter = 30 * time.Second

// state asks the views of the availability group. why is set where they have nothing to
// say for as long as nobody changes that.
func (a *sqlServerAsker) state(ctx context.Context, ask asking) (s lsn.SQLServerState, why string, err error) {
	a.mu.Lock()
	why = a.none
	wait := why != "" && time.Now().Before(a.next)
	a.mu.Unlock()
	if wait {
		return s, why, nil
	}
	text, err := ask(ctx, lsn.SQLServerStateSQL)
	if err == nil {
		s, err = lsn.ParseSQLServerState(text)
	}
	why, err = noPositions(err)
	if err != nil {
		return s, "", err
	}
	a.mu.Lock()
	a.none, a.next = why, time.Now().Add(askAgainAfter)
	a.mu.Unlock()
	return s, why, nil
}

// noPositions tells an error that says that there are no positions from others.
func noPositions(err error) (why string, other error) {
	var server interface{ SQLErrorNumber() int32 }
	switch {
	case err == nil:
		return "", nil
	case errors.Is(err, sql.ErrNoRows):
		return "the database is in no availability group, or the DSN does not name it", nil
	case errors.Is(err, lsn.ErrSQLServerRange):
		return "its log sequence numbers are beyond what can be compared", nil
	case errors.Is(err, lsn.ErrSQLServerNoCommit):
		return "the view has no last_commit_lsn", nil
	case !errors.As(err, &server):
		return "", err
	}
	switch server.SQLErrorNumber() {
	case 229, 297, 300, 371:
		return "the login has no permission VIEW SERVER STATE, from SQL Server 2022 on VIEW SERVER PERFORMANCE STATE", nil
	case 208, 40515:
		return "this edition has no views of availability groups, as Azure SQL Database", nil
	}
	return "", err
}

// sqlServerPrimary asks the server that is the primary.
type sqlServerPrimary struct{ sqlServerAsker }

func (p *sqlServerPrimary) sample(ctx context.Context, ask asking) (lsn.Sample, error) {
	began := time.Now()
	run, err := p.ask(ctx, ask)
	if err != nil {
		return lsn.Sample{}, err
	}
	s, err := p.answer(ctx, ask, run, began)
	if err != nil || s.InRecovery {
		return s, err
	}
	p.mu.Lock()
	p.last, p.run = s, run
	p.mu.Unlock()
	return s, nil
}

func (p *sqlServerPrimary) answer(ctx context.Context, ask asking, run lsn.SQLServerRun, began time.Time) (lsn.Sample, error) {
	d := p.d
	if d.given.Marker != "" {
		return p.marked(ctx, ask, run)
	}
	state, why, err := p.state(ctx, ask)
	if err != nil {
		return lsn.Sample{}, err
	}
	var s lsn.Sample
	switch {
	case why != "":
	case !state.Primary:
		return lsn.SQLServerSample(run, state), nil
	case run.AsyncCommit:
		why = "DELAYED_DURABILITY is not DISABLED, and a commit may be acknowledged before it has a position"
	default:
		if s = p.named(lsn.SQLServerSample(run, state)); s.Timeline == 0 {
			why = "the primary does not know its own name in the availability group"
		}
	}
	if why == "" {
		d.found(s.System, "")
		return s, nil
	}
	if s = byClock(run, began); !s.InRecovery {
		d.found(s.System, why)
	}
	return s, nil
}

// byClock is a server without positions, that answered at a question sent at began.
func byClock(run lsn.SQLServerRun, began time.Time) lsn.Sample {
	s := lsn.Sample{Server: lsn.SQLServerSelf(run), InRecovery: run.ReadOnly}
	if !run.ReadOnly {
		s.Flush, s.Timeline = lsn.Clock(began), lsn.ClockTimeline
		s.Insert = s.Flush
	}
	return s
}

// named keeps the name of the primary where its cluster cannot be asked for it just now:
// one that has not begun anew has not become another.
func (p *sqlServerPrimary) named(s lsn.Sample) lsn.Sample {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.Timeline == 0 && p.last.Server == s.Server {
		s.Timeline = p.last.Timeline
	}
	return s
}

// marked takes the next number of the marker table.
func (p *sqlServerPrimary) marked(ctx context.Context, ask asking, run lsn.SQLServerRun) (lsn.Sample, error) {
	query := lsn.SQLServerMarkSQL(p.d.given.Marker)
	if run.ReadOnly {
		query = lsn.SQLServerMarkedSQL(p.d.given.Marker)
	}
	text, err := ask(ctx, query)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoMarker
	}
	if err != nil {
		p.d.once("marker", "the table of Config.SQLServer.Marker cannot be used; lsn.SQLServerMarkerTable has its definition: %v", err)
		return lsn.Sample{}, fmt.Errorf("readsplit: Config.SQLServer.Marker: %w", err)
	}
	system, n, err := lsn.ParseSQLServerMark(text)
	if err != nil {
		return lsn.Sample{}, err
	}
	p.d.found(system, "")
	return lsn.SQLServerMarked(run, system, n), nil
}

var errNoMarker = errors.New("there is no row in it")

func (p *sqlServerPrimary) position(ctx context.Context, ask asking) (lsn.LSN, bool, error) {
	s, err := p.sample(ctx, ask)
	return s.Replay, s.InRecovery, err
}

func (p *sqlServerPrimary) capture(ctx context.Context, ask asking) (c lsn.Capture, same bool, err error) {
	p.mu.Lock()
	last, run := p.last, p.run
	p.mu.Unlock()
	began := time.Now()
	var s lsn.Sample
	switch {
	case last.Started == 0:
		return lsn.Capture{}, false, nil
	case p.d.given.Marker != "":
		s, err = p.marked(ctx, ask, run)
	case p.d.without() != "":
		if run, err = p.ask(ctx, ask); err == nil {
			s = byClock(run, began)
		}
	default:
		var state lsn.SQLServerState
		var why string
		if state, why, err = p.state(ctx, ask); err == nil && why == "" && state.Primary {
			s = p.named(lsn.SQLServerSample(run, state))
		}
	}
	if err != nil {
		return lsn.Capture{}, true, err
	}
	return lsn.Capture{Flush: s.Flush, Insert: s.Insert, End: s.End}, s.History() == last.History(), nil
}

func (p *sqlServerPrimary) greet(ctx context.Context, ask asking) (lsn.Connect, error) {
	s, err := p.sample(ctx, ask)
	return lsn.Connect{Server: s.Server, InRecovery: s.InRecovery, Replay: s.Replay}, err
}
