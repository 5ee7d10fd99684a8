package readsplit

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	driver "gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/internal/conflicts"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/testenv"
)

// Most reads are decided on a shorter way than the others. Whatever has happened before, it
// leads where the longer one does: servers that stand still, are behind, are drained or
// ejected, primaries that are lost, and sessions that wrote, were told and have seen much.
func TestTheShortWayLeadsWhereTheLongOneDoes(t *testing.T) {
	c, err := testenv.New(t.Context(), testenv.Config{Replicas: 2})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := shortWay{c: c, random: random, reasons: map[policy.Reason]int{}}
	for _, cfg := range []Config{
		{},
		{Guarantee: session.MonotonicReads, MaxWait: Off},
		{Balancer: policy.RoundRobin(), Policies: []policy.Policy{policy.OneServer()}},
		{MaxLag: 100 * time.Millisecond, MaxWait: 20 * time.Millisecond},
	} {
		s.run(t, cfg, 60)
	}
	t.Log(s.reasons, s.known)
	for _, reason := range []policy.Reason{
		policy.ReasonCaughtUp, policy.ReasonBehindSession, policy.ReasonLagging, policy.ReasonKeepsConflicting, policy.ReasonPrimaryLost,
	} {
		assert.Positive(t, s.reasons[reason], "%s", reason)
	}
	assert.Positive(t, s.known)
}

// shortWay decides reads on both ways while it changes what they depend on.
type shortWay struct {
	c       *testenv.Cluster
	random  *rand.Rand
	db      *gorm.DB
	p       *Plugin
	reasons map[policy.Reason]int
	known   int // claims that were taken as they stand
	users   []context.Context
	undo    map[int]testenv.Undo // of the replica that stands still, or is behind
	drained [2]bool
}

func (s *shortWay) run(t *testing.T, cfg Config, steps int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i, r := range s.c.Replicas() {
		cfg.Replicas = append(cfg.Replicas, Replica{Name: shortWayNames[i], Dialector: driver.Open(r.DSN())})
	}
	cfg.SampleEvery, cfg.SampleTimeout = 20*time.Millisecond, 300*time.Millisecond // states that pass quickly
	var err error
	s.db, err = gorm.Open(driver.Open(s.c.Primary().DSN()), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	pool, err := s.db.DB()
	require.NoError(t, err)
	s.p, s.undo = New(cfg), map[int]testenv.Undo{}
	require.NoError(t, s.db.Use(s.p))
	defer func() { assert.NoError(t, errors.Join(s.p.Close(context.Background()), pool.Close())) }()
	s.users = []context.Context{ctx, WithSession(ctx, NewSession()), WithSession(ctx, NewSession()), WithSession(ctx, NewSession())}
	for range steps {
		s.change(ctx, t)
		for range 4 {
			s.compare(t, s.users[s.random.IntN(len(s.users))])
		}
	}
	for i := range s.c.Replicas() {
		s.moves(t, i)
		s.drains(ctx, t, i, false)
	}
	now := time.Now()
	for range conflicts.Strikes {
		s.p.main.conflicts.Cancelled(shortWayRead, now, now)
	}
	for range 50 {
		s.compare(t, s.users[s.random.IntN(len(s.users))])
	}
	undo, err := s.c.Primary().Freeze(ctx)
	require.NoError(t, err)
	for !s.p.main.lost() {
		require.NoError(t, ctx.Err())
		s.compare(t, s.users[s.random.IntN(len(s.users))])
	}
	for range 200 {
		s.compare(t, s.users[s.random.IntN(len(s.users))])
	}
	require.NoError(t, undo())
}

var shortWayNames = []string{"replica1", "replica2"}

const shortWayRead = "SELECT 1"

// change does something that decisions depend on.
func (s *shortWay) change(ctx context.Context, t *testing.T) {
	t.Helper()
	user, i := s.users[s.random.IntN(len(s.users))], s.random.IntN(2)
	switch s.random.IntN(13) {
	case 0, 1, 2:
		require.NoError(t, s.db.WithContext(user).Exec("SELECT pg_logical_emit_message(true, 'shortway', '')").Error)
	case 3, 4, 5:
		require.NoError(t, s.db.WithContext(user).Raw(shortWayRead).Scan(new(int)).Error)
	case 6: // another request of the same user
		s.users[1+s.random.IntN(3)] = WithSession(ctx, marksOf(s.users[1+s.random.IntN(3)]).session)
	case 7: // another user, or one who has nothing but a token
		next := NewSession()
		if m := marksOf(user); m.session != nil && s.random.IntN(2) == 0 {
			token, err := m.session.Token(ctx)
			require.NoError(t, err)
			next.Join(token)
		}
		s.users[1+s.random.IntN(3)] = WithSession(ctx, next)
	case 8:
		s.p.main.monitor.Struck(i, false, errors.New("a fault of the replica"))
	case 9:
		s.drains(ctx, t, i, !s.drained[i] && (!s.drained[1-i] || s.random.IntN(8) == 0))
	case 10:
		s.moves(t, i)
	case 11: // a user of before a failover
		if m := marksOf(user); m.session != nil {
			m.session.ledgerOf(s.p.main).claim.update(func(c session.Claim) session.Claim {
				if !c.Position.Zero() {
					c.Position.History.Timeline++
				}
				return c
			})
		}
	default:
		if s.undo[i] != nil {
			return
		}
		var err error
		if s.random.IntN(2) == 0 {
			s.undo[i], err = s.c.Replica(i).PauseReplay(ctx)
		} else {
			s.undo[i], err = s.c.Replica(i).Delay(ctx, 50*time.Millisecond)
		}
		require.NoError(t, err)
	}
}

func (s *shortWay) drains(ctx context.Context, t *testing.T, i int, drained bool) {
	t.Helper()
	if s.drained[i] = drained; drained {
		require.NoError(t, s.p.Drain(ctx, shortWayNames[i]))
	} else {
		require.NoError(t, s.p.Resume(shortWayNames[i]))
	}
}

// moves lets a replica apply what it receives again.
func (s *shortWay) moves(t *testing.T, i int) {
	t.Helper()
	if undo := s.undo[i]; undo != nil {
		s.undo[i] = nil
		require.NoError(t, undo())
	}
}

// decided is what was decided of one read.
type decided struct {
	server     string
	generation uint64
	reason     policy.Reason
	refused    bool
}

// compare decides the same read on both ways, and again on the one that it was decided on
// first: what has changed meanwhile says nothing.
func (s *shortWay) compare(t *testing.T, ctx context.Context) {
	t.Helper()
	rt, m := s.p.main, marksOf(ctx)
	ticket := s.random.Uint64()
	decide := func(long bool) decided {
		r := &route{router: rt}
		if long {
			r.detour = new(detour)
		}
		rt.ticket.Store(ticket)
		at, generation, reason, err := r.choose(ctx, m, shortWayRead, 0)
		d := decided{generation: generation, reason: reason, refused: err != nil}
		if at != nil {
			d.server = at.name
		}
		return d
	}
	for range 20 {
		snap := rt.monitor.Snapshot()
		first := s.random.IntN(2) == 0
		a, b := decide(first), decide(!first)
		if again := decide(first); again != a || rt.monitor.Snapshot() != snap {
			continue
		}
		require.Equal(t, a, b, "%+v", snap)
		s.claims(ctx, t, m)
		s.reasons[a.reason]++
		return
	}
}

// claims looks at what must be seen as most reads do, and as those do for which something
// has to be found out first.
func (s *shortWay) claims(ctx context.Context, t *testing.T, m *marks) {
	t.Helper()
	rt := s.p.main
	registers := []*register{&rt.process, &rt.heard, &rt.unscoped}
	if m.session != nil {
		registers = append(registers, &m.session.ledgerOf(rt).claim)
	}
	for i, r := range registers {
		var quick, whole policy.Query
		quick.LastWrite = time.Now().Add(-time.Duration(s.random.IntN(50)) * time.Millisecond)
		whole.LastWrite = quick.LastWrite
		claim := *r.load()
		at, known := rt.known(r, &quick)
		if !known {
			continue
		}
		atWhole := rt.claimed(ctx, r, i < 3, &whole, &patience{})
		if *r.load() != claim {
			continue // somebody wrote
		}
		require.Equal(t, whole, quick, "%+v", claim)
		require.Equal(t, atWhole, at, "%+v", claim)
		s.known++
	}
}
