package monitor_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

// pgSource is a Source over one connection of pgx.
type pgSource struct {
	dsn    string
	conn   *pgx.Conn
	nudges atomic.Int64
}

func (s *pgSource) ask(ctx context.Context, query string) (text string, err error) {
	if err = s.conn.QueryRow(ctx, query).Scan(&text); err != nil {
		s.drop()
	}
	return text, err
}

func (s *pgSource) drop() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = s.conn.Close(ctx) // it may be frozen
	s.conn = nil
}

func (s *pgSource) Sample(ctx context.Context) (sample lsn.Sample, fresh bool, err error) {
	if s.conn == nil {
		fresh = true
		if s.conn, err = pgx.Connect(ctx, s.dsn); err != nil {
			s.conn = nil
			return sample, fresh, err
		}
	}
	text, err := s.ask(ctx, lsn.FullSQL)
	if err != nil {
		return sample, fresh, err
	}
	sample, err = lsn.ParseSample(text)
	return sample, fresh, err
}

func (s *pgSource) Position(ctx context.Context) (replay lsn.LSN, standby, connected bool, err error) {
	if s.conn == nil {
		return 0, false, false, nil
	}
	text, err := s.ask(ctx, lsn.ReplaySQL)
	if err != nil {
		return 0, false, true, err
	}
	replay, standby, err = lsn.ParseReplay(text)
	return replay, standby, true, err
}

func (s *pgSource) Capture(ctx context.Context) (c lsn.Capture, connected bool, err error) {
	if s.conn == nil {
		return c, false, nil
	}
	text, err := s.ask(ctx, lsn.CaptureSQL)
	if err != nil {
		return c, true, err
	}
	c, err = lsn.ParseCapture(text, 0, 0)
	return c, true, err
}

func (s *pgSource) Nudge(ctx context.Context) error {
	if s.conn == nil {
		return nil
	}
	s.nudges.Add(1)
	_, err := s.ask(ctx, lsn.NudgeSQL)
	return err
}

func (s *pgSource) Close() error {
	if s.conn != nil {
		s.drop()
	}
	return nil
}

const realLag = 1500 * time.Millisecond

// watch starts a Monitor over real servers.
func watch(t *testing.T, primary *testenv.Server, replicas []*testenv.Server, edits ...func(*monitor.Config)) (*monitor.Monitor, *pgSource, *world) {
	t.Helper()
	source := &pgSource{dsn: primary.DSN()}
	w := newWorld(0) // for what OnChange, OnDead and OnAlive are told
	m := w.monitor(append([]func(*monitor.Config){func(c *monitor.Config) {
		c.Primary = monitor.Target{Name: primary.Name(), Source: source}
		for _, s := range replicas {
			c.Replicas = append(c.Replicas, monitor.Target{Name: s.Name(), Source: &pgSource{dsn: s.DSN()}})
		}
		c.SampleEvery, c.SampleTimeout, c.MaxLag = 50*time.Millisecond, 10*time.Second, realLag
	}}, edits...)...)
	m.Start()
	t.Cleanup(m.Close)
	return m, source, w
}

// within polls until ok, and reports how long it took.
func within(t *testing.T, limit time.Duration, what string, ok func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Since(began) > limit {
			require.Fail(t, what, "not within %v", limit)
		}
		<-tick.C
	}
	return time.Since(began)
}

// during checks again and again for d.
func during(d time.Duration, check func()) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < d; <-tick.C {
		check()
	}
}

// usable is eligible with the lag of the tests on real servers.
func usable(m *monitor.Monitor, i int) bool { return near(m, i, 0) }

// near is usable on a machine where whoever waits goes on as late as that.
func near(m *monitor.Monitor, i int, late time.Duration) bool {
	r := replica(m, i)
	lag, ok := r.Lag(time.Now())
	return r.Up && r.Role == policy.RoleStandby && ok && lag <= realLag+10*late
}

// opens is a new connection of a replica's read pool, as the plugin opens it.
func opens(ctx context.Context, m *monitor.Monitor, i int, s *testenv.Server) (*pgx.Conn, lsn.Connect, error) {
	conn, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return nil, lsn.Connect{}, err
	}
	for {
		look := m.Look(i)
		var text string
		var c lsn.Connect
		if err = conn.QueryRow(ctx, lsn.ConnectSQL).Scan(&text); err == nil {
			if c, err = lsn.ParseConnect(text); err == nil {
				var again bool
				if again, err = look.Connected(c); again && err == nil {
					continue
				}
			}
		}
		if err != nil {
			_ = conn.Close(ctx)
			return nil, c, err
		}
		return conn, c, nil
	}
}
