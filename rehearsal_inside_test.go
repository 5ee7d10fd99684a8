package readsplit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/explain"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
)

// An explanation has no capture taken, also none of those that are begun for nobody who
// waits, and says of a write which no replica can have yet what a read would find.
func TestExplanationsAreNotPursued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaper(200 * time.Millisecond)
		defer func() { p.rt.monitor.Close() }()
		p.run(crowd{writes: 100, reads: 100}, time.Second)
		<-time.After(2 * time.Second) // nobody has looked for a position for a while
		p.captures.Store(0)
		p.asked.Store(0)
		write := func() {
			p.commit()
			p.rt.wrote(noMarks, false, false, lsn.History{})
			<-time.After(5 * time.Millisecond)
		}
		for range 100 {
			write()
			h := newRehearsal(p.rt.plugin, &explain.Report{})
			s := h.standIn(p.rt)
			s.wrote(noMarks, false, false, lsn.History{})
			q := &query{Query: policy.Query{Statement: policy.Read}}
			var seen *sight
			_, err := s.decide(context.Background(), noMarks, q, nil, &seen)
			d := q.decision
			require.NoError(t, err)
			require.Equal(t, policy.Decision{Target: policy.ToPrimary, Reason: policy.ReasonBehindSession}, d)
			require.Contains(t, h.owed(s), "a moment ago")
		}
		assert.Zero(t, p.captures.Load())

		q := &query{Query: policy.Query{Statement: policy.Read}}
		var seen *sight
		_, err := p.rt.decide(context.Background(), noMarks, q, nil, &seen)
		d := q.decision
		require.NoError(t, err)
		assert.Equal(t, policy.Decision{Target: policy.ToPrimary, Reason: policy.ReasonBehindSession}, d)
		write()
		assert.NotZero(t, p.captures.Load(), "a read that runs has it pursued")
	})
}

// A write that is only explained wakes nobody: a process that does nothing goes on
// sampling seldom.
func TestExplanationsWakeNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &router{}
		rt.self = []*router{rt}
		rt.plugin = &Plugin{main: rt, db: &gorm.DB{Config: &gorm.Config{Logger: logger.Discard}}}
		rt.monitor = monitor.New(monitor.Config{
			Primary:     monitor.Target{Name: primaryName, Source: invented{always(1)}},
			SampleEvery: 100 * time.Millisecond, IdleSampleEvery: 10 * time.Second, SampleTimeout: time.Second,
			MaxLag: time.Second, MaxWait: time.Millisecond,
		})
		rt.asks = rt.monitor
		rt.monitor.Start()
		defer rt.monitor.Close()
		<-time.After(time.Minute)
		require.True(t, rt.monitor.Drowsy())
		h := newRehearsal(rt.plugin, &explain.Report{})
		s := h.standIn(rt)
		require.Equal(t, rt.monitor.Captures()+1, s.asks.NextCapture())
		s.wrote(noMarks, false, false, lsn.History{})
		<-time.After(time.Second)
		assert.True(t, rt.monitor.Drowsy())
		before := rt.monitor.Captures()
		rt.wrote(noMarks, false, false, lsn.History{})
		<-time.After(time.Second)
		assert.False(t, rt.monitor.Drowsy())
		assert.Greater(t, rt.monitor.Captures(), before)
	})
}
