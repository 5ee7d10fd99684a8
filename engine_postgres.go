package readsplit

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/sqlclass"
)

// postgreSQL is the kind of database that most of this is about.
type postgreSQL struct{}

func (postgreSQL) primary() engine           { return nil }
func (postgreSQL) replica(Replica) engine    { return nil }
func (postgreSQL) dialect() sqlclass.Dialect { return sqlclass.PostgreSQL }
func (postgreSQL) sticky() bool              { return false }
func (postgreSQL) nudges() bool              { return true }

// postgres asks one PostgreSQL server.
type postgres struct {
	manner manner
	// clock lets a primary that does not tell its position have one by the clock
	// (lsn.Clock): there are replicas of which it is stated how far behind they are.
	clock *atomic.Bool
	async atomic.Bool // what the newest sample said
}

var errNoPosition = errors.New("readsplit: it is a primary that does not tell its position: let its role ask for it, or set Replica.StatedLag where the replicas do not tell theirs either")

func (*postgres) dials() time.Duration { return 0 }

func (p *postgres) sample(ctx context.Context, ask asking) (lsn.Sample, error) {
	began := time.Now()
	text, err := p.manner.put(lsn.FullSQL, lsn.BareSQL, func(question string) (string, error) {
		began = time.Now()
		return ask(ctx, question)
	})
	if err != nil {
		return lsn.Sample{}, err
	}
	s, err := lsn.ParseSample(text)
	if err == nil && p.manner.bare() && !s.InRecovery {
		if p.clock == nil || !p.clock.Load() {
			return lsn.Sample{}, errNoPosition
		}
		at := lsn.Clock(began)
		s.Flush, s.Insert, s.Timeline = at, at, lsn.ClockTimeline
	}
	p.async.Store(s.AsyncCommit)
	return s, err
}

func (p *postgres) position(ctx context.Context, ask asking) (replay lsn.LSN, standby bool, err error) {
	if p.manner.bare() {
		return 0, false, nil // there is nothing to ask for but everything else
	}
	text, err := ask(ctx, lsn.ReplaySQL)
	if err != nil {
		return 0, false, err
	}
	return lsn.ParseReplay(text)
}

func (p *postgres) capture(ctx context.Context, ask asking) (c lsn.Capture, same bool, err error) {
	if p.manner.bare() {
		at := lsn.Clock(time.Now())
		text, err := ask(ctx, lsn.BareCaptureSQL)
		if err == nil && text != "true" {
			err = errNoPosition
		}
		return lsn.Capture{Flush: at, Insert: at, AsyncCommit: p.async.Load()}, true, err
	}
	text, err := ask(ctx, lsn.CaptureSQL)
	if err != nil {
		return lsn.Capture{}, true, err
	}
	c, err = lsn.ParseCapture(text, 0, 0)
	return c, true, err
}

func (p *postgres) greet(ctx context.Context, ask asking) (lsn.Connect, error) {
	text, err := p.manner.put(lsn.ConnectSQL, lsn.BareConnectSQL, func(question string) (string, error) {
		return ask(ctx, question)
	})
	if err != nil {
		return lsn.Connect{}, err
	}
	return lsn.ParseConnect(text)
}

func (*postgres) conflicts(ctx context.Context, ask asking) (lsn.Conflicts, error) {
	text, err := ask(ctx, lsn.ConflictsSQL)
	if err != nil {
		return lsn.Conflicts{}, err
	}
	return lsn.ParseConflicts(text)
}

func (*postgres) nudge(ctx context.Context, ask asking) error {
	_, err := ask(ctx, lsn.NudgeSQL)
	return err
}
