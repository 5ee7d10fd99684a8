package jobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session/jobs"
)

var (
	onPrimary = func(orders int) seen { return seen{orders, "primary"} }
	onReplica = func(orders int) seen { return seen{orders, "replica1"} }
)

func tokenOf(t testing.TB, ctx context.Context) string {
	t.Helper()
	token, err := jobs.Token(ctx)
	require.NoError(t, err)
	return token
}

func TestJobSeesWhatWasWrittenBeforeIt(t *testing.T) {
	l := newLab(t)
	undo := l.pause(t)
	request := visitor()
	l.order(t, request)
	token := tokenOf(t, request)

	sticky, begun := jobs.Begin(t.Context(), token, jobs.Sticky())
	assert.Equal(t, jobs.Begun{}, begun)
	assert.Equal(t, onPrimary(1), l.read(t, sticky))
	always, begun := jobs.Begin(t.Context(), token, jobs.Always())
	assert.Equal(t, jobs.Begun{}, begun)
	assert.Equal(t, onPrimary(1), l.read(t, always))
	delayed, begun := jobs.Begin(t.Context(), token, jobs.Delayed(50*time.Millisecond))
	assert.True(t, begun.InVain)
	assert.GreaterOrEqual(t, begun.Waited, 50*time.Millisecond)
	assert.Equal(t, onPrimary(1), l.read(t, delayed))

	// A worker that waits gets its replica.
	began := make(chan jobs.Begun)
	go func() {
		var begun jobs.Begun
		delayed, begun = jobs.Begin(context.Background(), token, jobs.Delayed(30*time.Second))
		began <- begun
	}()
	select {
	case <-began:
		t.Fatal("it began before a replica had what it must see")
	case <-time.After(100 * time.Millisecond):
	}
	undo()
	begun = <-began
	assert.False(t, begun.InVain)
	assert.Positive(t, begun.Waited)
	assert.Equal(t, onReplica(1), l.read(t, delayed))
	assert.Equal(t, onReplica(1), l.read(t, sticky), "the primary only while no replica has it")
	assert.Equal(t, onPrimary(1), l.read(t, always))
	assert.Zero(t, l.plugin.Status().Tokens)
}

// A queue must not put a job back for ever where no waiting helps.
func TestDelayedDoesNotWaitForNothing(t *testing.T) {
	l := newLab(t)
	l.pause(t)
	request := visitor()
	l.order(t, request)
	token := tokenOf(t, request)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ctx, begun := jobs.Begin(ctx, token, jobs.Delayed(time.Hour))
	assert.True(t, begun.InVain, "the worker is stopping")
	assert.ErrorIs(t, ctx.Err(), context.Canceled)

	for _, db := range []*gorm.DB{l.producer, l.worker} {
		require.NoError(t, db.Plugins["readsplit"].(*readsplit.Plugin).SetTraffic(policy.Traffic{KillSwitch: true}))
	}
	ctx, begun = jobs.Begin(limit(t), token, jobs.Delayed(time.Hour))
	assert.False(t, begun.InVain)
	assert.Equal(t, onPrimary(1), l.read(t, ctx))
	_, begun = jobs.Begin(t.Context(), token, jobs.Delayed(-1))
	assert.Equal(t, jobs.Begun{}, begun)
}

// A job is about what whoever enqueued it has seen, and that need not be a write of
// its own.
func TestJobSeesWhatOthersCommittedBeforeIt(t *testing.T) {
	l := newLab(t)
	for name, enqueuer := range map[string]context.Context{
		"a session that wrote nothing": visitor(),
		"no session":                   context.Background(),
	} {
		undo := l.pause(t)
		have := l.read(t, visitor())
		assert.Equal(t, "replica1", have.Server, name)
		l.past(t, "INSERT INTO orders (title) VALUES ('of another process')")
		ctx, _ := jobs.Begin(t.Context(), tokenOf(t, enqueuer), jobs.Sticky())
		assert.Equal(t, onPrimary(have.Orders+1), l.read(t, ctx), name)
		assert.Equal(t, have, l.read(t, visitor()), "%s: nobody else is bound by a job", name)
		undo()
	}
}

func TestTokenOfAnOpenTransaction(t *testing.T) {
	l := newLab(t)
	l.pause(t)
	request := visitor()
	require.NoError(t, l.producer.WithContext(request).Transaction(func(tx *gorm.DB) error {
		require.NoError(t, tx.Exec("INSERT INTO orders (title) VALUES ('a book')").Error)
		_, err := jobs.Token(request)
		require.ErrorIs(t, err, readsplit.ErrTokenInTransaction)
		require.ErrorContains(t, err, "enqueue it after the commit")
		require.ErrorIs(t, jobs.Put(request, map[string]string{}), readsplit.ErrTokenInTransaction)
		return nil
	}))
	ctx, _ := jobs.Begin(t.Context(), tokenOf(t, request), jobs.Sticky())
	assert.Equal(t, onPrimary(1), l.read(t, ctx))
}

// An older producer sends no token: its job was enqueued before it was taken.
func TestJobWithoutAToken(t *testing.T) {
	l := newLab(t)
	undo := l.pause(t)
	l.past(t, "INSERT INTO orders (title) VALUES ('a book')")
	ctx, begun := jobs.Begin(t.Context(), "", jobs.Sticky())
	assert.Equal(t, jobs.Begun{NoToken: true}, begun)
	assert.Equal(t, onPrimary(1), l.read(t, ctx))
	assert.Equal(t, onReplica(0), l.read(t, visitor()))
	undo()
	_, begun = jobs.Begin(t.Context(), "", jobs.Delayed(30*time.Second))
	assert.False(t, begun.InVain, "it is no doubt that lasts a window")
	assert.Less(t, begun.Waited, 15*time.Second)
}

func TestJobWhoseTokenIsNotToBeTrusted(t *testing.T) {
	l := newLab(t)
	l.pause(t)
	l.past(t, "INSERT INTO orders (title) VALUES ('a book')")
	for _, token := range []string{"rubbish", "b1~orders", tokenOf(t, visitor())[:20]} {
		before := l.plugin.Status().Tokens.Refused
		ctx, begun := jobs.Begin(t.Context(), token, jobs.Sticky())
		assert.Equal(t, jobs.Begun{}, begun)
		assert.Equal(t, onPrimary(1), l.read(t, ctx))
		assert.Equal(t, before+1, l.plugin.Status().Tokens.Refused)
	}
}

// The worker's loop: each job has a session of its own, also where the worker keeps
// all contexts in one variable.
func TestNothingLeaksFromOneJobToTheNext(t *testing.T) {
	l := newLab(t)
	early := tokenOf(t, visitor())
	l.pause(t)
	type message struct {
		token  string
		policy jobs.Policy
		mark   func(context.Context) context.Context
		write  bool
		want   seen
	}
	queue := make(chan message, 8)
	queue <- message{token: early, write: true, want: onPrimary(1)}
	queue <- message{token: early, want: onReplica(0)}
	queue <- message{token: early, policy: jobs.Always(), want: onPrimary(1)}
	queue <- message{token: early, want: onReplica(0)}
	queue <- message{token: "rubbish", want: onPrimary(1)}
	queue <- message{token: early, mark: readsplit.Fresh, want: onPrimary(1)}
	queue <- message{token: early, want: onReplica(0)}
	close(queue)
	ctx := readsplit.WithSession(context.Background(), readsplit.NewSession()) // of the worker's start
	n := 0
	for m := range queue {
		n++
		ctx, _ = jobs.Begin(ctx, m.token, m.policy)
		job := ctx
		if m.mark != nil {
			job = m.mark(job)
		}
		if m.write {
			require.NoError(t, l.worker.WithContext(job).Exec("INSERT INTO orders (title) VALUES ('by a job')").Error)
		}
		assert.Equal(t, m.want, l.read(t, job), "job %d", n)
	}
	assert.Equal(t, 7, n)
}

func TestHeaders(t *testing.T) {
	l := newLab(t)
	l.pause(t)
	request := visitor()
	l.order(t, request)
	headers := map[string]string{"content-type": "text/plain"}
	require.NoError(t, jobs.Put(request, headers))
	assert.Len(t, headers, 2)
	ctx, _ := jobs.Begin(t.Context(), jobs.Take(headers), jobs.Sticky())
	assert.Equal(t, onPrimary(1), l.read(t, ctx))
	assert.Empty(t, jobs.Take(nil))
}

// The tokens of other services go through a queue too.
func TestTokensOfOthersGoWithAJob(t *testing.T) {
	newLab(t)
	request := visitor()
	readsplit.SessionFrom(request).Join("b1~billing~r9.of-billing")
	ctx, _ := jobs.Begin(t.Context(), tokenOf(t, request), jobs.Sticky())
	token, err := readsplit.SessionFrom(ctx).Token(ctx)
	require.NoError(t, err)
	assert.Contains(t, token, "~billing~r9.of-billing")
}

func TestWithoutAPlugin(t *testing.T) {
	headers := map[string]string{jobs.Header: "of the message that these were copied from"}
	require.NoError(t, jobs.Put(visitor(), headers))
	assert.Empty(t, headers)
	assert.Empty(t, jobs.Capture(t.Context()))
	ctx, begun := jobs.Begin(t.Context(), "", jobs.Delayed(time.Hour))
	assert.Less(t, begun.Waited, time.Minute)
	assert.False(t, begun.InVain)
	assert.NotNil(t, readsplit.SessionFrom(ctx))
}
