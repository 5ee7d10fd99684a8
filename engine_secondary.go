package readsplit

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// sqlServerReplica asks a server that reads may go to.
type sqlServerReplica struct {
	sqlServerAsker

	// Guarded by mu.
	server  string // that answered first
	several bool   // the name leads to several servers, as a listener that routes
	// unmarked: it does not show the marker table.
	unmarked bool
}

// listens takes in who has answered, and reports whether the name leads to several
// servers: what one connection says is then not true of the next, whatever it is.
func (r *sqlServerReplica) listens(server string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.server == "" {
		r.server = server
	}
	if found := r.server != server && !r.several; found {
		r.several = true
		r.d.warn("readsplit: replica %q answers as %s and as %s: it is a listener, or the name of several servers, and no position holds for it; after a write its session reads from the primary for Config.StickyWindow, and how old it is rests on Replica.StatedLag; give each server an address of its own in Config.Replicas, with ApplicationIntent=ReadOnly, or set Replica.Balanced to say that it is meant", r.name, r.server, server)
	}
	return r.several
}

func (r *sqlServerReplica) sample(ctx context.Context, ask asking) (lsn.Sample, error) {
	began := time.Now()
	run, err := r.ask(ctx, ask)
	if err != nil {
		return lsn.Sample{}, err
	}
	d := r.d
	switch {
	case r.listens(run.Server):
		return r.any(run), nil
	case d.given.Marker != "":
		return r.marked(ctx, ask, run, began)
	case d.without() != "":
		// Of itself it could tell, but not what of the primary's that is.
		return byClock(run, began), nil
	}
	state, why, err := r.state(ctx, ask)
	switch {
	case err != nil:
		return lsn.Sample{}, err
	case why == "":
		return lsn.SQLServerSample(run, state), nil
	}
	d.once(r.name+": "+why, "replica %q gives no positions, although the primary does (%s)", r.name, why)
	return r.silent(run, began), nil
}

// silent is a server that tells no position, where the primary does.
func (r *sqlServerReplica) silent(run lsn.SQLServerRun, began time.Time) lsn.Sample {
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	s := byClock(run, began)
	s.System = r.d.system // or it would be taken for another's
	return s
}

// any is whichever server answers behind a name of several: of the primary's group, by
// its configuration, and one and the same for the monitor.
func (r *sqlServerReplica) any(run lsn.SQLServerRun) lsn.Sample {
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	s := lsn.Sample{Server: lsn.SQLServerSelf(lsn.SQLServerRun{Server: "the name " + r.name}), InRecovery: run.ReadOnly}
	s.System = r.d.system
	return s
}

func (r *sqlServerReplica) marked(ctx context.Context, ask asking, run lsn.SQLServerRun, began time.Time) (lsn.Sample, error) {
	text, err := ask(ctx, lsn.SQLServerMarkedSQL(r.d.given.Marker))
	var server interface{ SQLErrorNumber() int32 }
	if errors.Is(err, sql.ErrNoRows) || errors.As(err, &server) && (server.SQLErrorNumber() == 208 || server.SQLErrorNumber() == 229) {
		r.shows(false)
		r.d.once(r.name+": marker", "replica %q does not show the table of Config.SQLServer.Marker: %v", r.name, err)
		return r.silent(run, began), nil
	}
	if err != nil {
		return lsn.Sample{}, err
	}
	m, err := lsn.ParseSQLServerMark(text)
	if err != nil {
		return lsn.Sample{}, err
	}
	r.shows(true)
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	return lsn.SQLServerMarked(run, m, r.d.reign), nil
}

func (r *sqlServerReplica) shows(marker bool) {
	r.mu.Lock()
	r.unmarked = !marker
	r.mu.Unlock()
}

func (r *sqlServerReplica) position(ctx context.Context, ask asking) (replay lsn.LSN, standby bool, err error) {
	r.mu.Lock()
	several := r.several
	r.mu.Unlock()
	if !several && r.d.given.Marker == "" && r.d.without() == "" {
		// One question instead of two. Whatever is not as it was is asked in full.
		state, why, err := r.state(ctx, ask)
		if err != nil || why != "" || !state.Follows {
			return 0, false, err
		}
		return state.Commit, true, nil
	}
	s, err := r.sample(ctx, ask)
	if r.d.given.Marker != "" && s.ReceivedTimeline == lsn.StandsStill {
		return 0, false, err // a number of another reign: asked in full
	}
	return s.Replay, s.InRecovery, err
}

func (r *sqlServerReplica) capture(context.Context, asking) (lsn.Capture, bool, error) {
	return lsn.Capture{}, false, nil
}

// greet asks a connection what it reached. Nothing can be set on it that would keep
// writes away, as on PostgreSQL: a secondary refuses them by itself, and a change of its
// role ends the connections that it has.
func (r *sqlServerReplica) greet(ctx context.Context, ask asking) (lsn.Connect, error) {
	s, err := r.sample(ctx, ask)
	return lsn.Connect{Server: s.Server, InRecovery: s.InRecovery, Replay: s.Replay}, err
}
