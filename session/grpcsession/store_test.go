package grpcsession_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/session/grpcsession"
)

// store is a session.Store that can be down.
type store struct {
	mu    sync.Mutex
	users map[string]session.Token
	down  bool
}

func (s *store) Load(_ context.Context, user string) (session.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return session.Token{}, errors.New("the store is down")
	}
	return s.users[user], nil
}

func (s *store) Advance(_ context.Context, user string, t session.Token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errors.New("the store is down")
	}
	s.users[user] = t // one writer
	return nil
}

func (s *store) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Clients that pass no metadata on are known by the user.
func TestStore(t *testing.T) {
	st := &store{users: map[string]session.Token{}}
	own := sessions(t, grpcsession.Options{Store: st, User: func(ctx context.Context) string {
		if who := metadata.ValueFromIncomingContext(ctx, "user"); len(who) > 0 {
			return who[0]
		}
		return ""
	}})
	_, conns, _ := two(t, own.ServerOptions()...)
	plain := [2]*grpc.ClientConn{dial(t, conns[0].Target()), dial(t, conns[1].Target())}
	as := func(user string) context.Context { return metadata.AppendToOutgoingContext(t.Context(), "user", user) }
	_, err := call(as("ann"), plain[0], "Add", "a book")
	require.NoError(t, err)
	assert.Equal(t, "1 on primary", count(t, as("ann"), plain[1]))
	assert.Equal(t, "0 on replica1", count(t, as("bob"), plain[1]))
	assert.Equal(t, "0 on replica1", count(t, t.Context(), plain[1]), "nobody in particular")
	assert.Zero(t, own.Stats().Store)

	st.setDown(true)
	assert.Equal(t, "1 on primary", count(t, as("bob"), plain[1]), "nobody knows what bob wrote")
	assert.EqualValues(t, 2, own.Stats().Store, "one to load, one to advance the doubt")
	var trailer metadata.MD
	require.NoError(t, plain[0].Invoke(as("eve"), "/shop.Orders/Add", &text{}, &text{}, grpc.Trailer(&trailer)))
	require.Len(t, trailer[grpcsession.Key], 1)
	st.setDown(false)
	assert.Equal(t, "2 on primary", count(t, as("eve"), plain[0]), "this process knows that the store does not")
}

// impatient is a store that answers nobody, and returns when its context ends.
type impatient struct{ session.Store }

func (impatient) Load(ctx context.Context, _ string) (session.Token, error) {
	<-ctx.Done()
	return session.Token{}, ctx.Err()
}

func (impatient) Advance(context.Context, string, session.Token) error { return nil }

// What a caller can do as often as it likes is a doubt of its own call. Reads without a
// session in the same process are not bound by it.
func TestCallersMakeNobodyElseDoubt(t *testing.T) {
	own := sessions(t, grpcsession.Options{Store: impatient{}, User: func(ctx context.Context) string {
		if len(metadata.ValueFromIncomingContext(ctx, "slow")) > 0 {
			return "ann"
		}
		return ""
	}})
	begun := make(chan struct{}, 1)
	inside := grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if len(metadata.ValueFromIncomingContext(ctx, "slow")) > 0 {
			begun <- struct{}{}
		}
		return handler(ctx, req)
	})
	shops, conns, _ := two(t, append(own.ServerOptions(), inside)...)
	plain := dial(t, conns[0].Target())
	elsewhere := func() string {
		found, err := shops[0].count(t.Context())
		require.NoError(t, err)
		return found.Value
	}
	require.Equal(t, "0 on replica1", elsewhere())

	many := t.Context()
	for range 40 {
		many = metadata.AppendToOutgoingContext(many, grpcsession.Key, "-")
	}
	assert.Equal(t, "0 on primary", count(t, many, plain))
	assert.Equal(t, "0 on replica1", elsewhere())

	again := metadata.AppendToOutgoingContext(t.Context(), "grpc-previous-rpc-attempts", "1")
	_, err := call(again, plain, "Count", "")
	require.NoError(t, err)
	assert.Equal(t, "0 on replica1", elsewhere())

	hurry, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "slow", "1"), 300*time.Millisecond)
	defer cancel()
	_, err = call(hurry, plain, "Count", "")
	require.Error(t, err)
	<-begun
	assert.Equal(t, "0 on replica1", elsewhere())
	assert.Zero(t, own.Stats().Store, "nor is the store blamed for it")
}
