package nemesis

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/readsplit/readsplit/session"
)

func slowNetwork(_ context.Context, env *Env, s Step) (Undo, error) {
	env.Address.Delay(time.Duration(1+s.Size/50) * time.Millisecond)
	return func() error {
		env.Address.Delay(0)
		return nil
	}, nil
}

func loseAnswers(_ context.Context, env *Env, s Step) (Undo, error) {
	rng := s.seeded()
	return repeated(150*time.Millisecond, func(context.Context) error {
		env.Address.LoseAnswers(rng, 0.3)
		return nil
	}), nil
}

func slowClients(_ context.Context, env *Env, s Step) (Undo, error) {
	a := env.Replicas[s.On]
	a.Delay(time.Duration(1+s.Size/50) * time.Millisecond)
	return func() error {
		a.Delay(0)
		return nil
	}, nil
}

func loseReads(_ context.Context, env *Env, s Step) (Undo, error) {
	rng := s.seeded()
	return repeated(150*time.Millisecond, func(context.Context) error {
		env.Replicas[s.On].LoseAnswers(rng, 0.3)
		return nil
	}), nil
}

// Post is the way that tokens take from one process to another.
type Post struct {
	keys session.Keys

	mu     sync.Mutex
	change func(text string) string
}

// NewPost returns the way for tokens that are signed with key.
func NewPost(key string) (*Post, error) {
	keys, err := session.NewKeys([]byte(key))
	return &Post{keys: keys}, err
}

// Carry returns a token as it arrives.
func (p *Post) Carry(text string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.change == nil {
		return text
	}
	return p.change(text)
}

func (p *Post) meddle(change func(text string) string) Undo {
	set := func(c func(string) string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.change = c
	}
	set(change)
	return func() error {
		set(nil)
		return nil
	}
}

// wrongClock moves the times in tokens to where the clock of their process would
// have been: up to four hours before or after, or just a little.
func wrongClock(_ context.Context, env *Env, s Step) (Undo, error) {
	off := time.Duration(s.Size-500) * 30 * time.Second
	if s.Size%3 == 0 {
		off = time.Duration(s.Size-500) * 10 * time.Millisecond
	}
	return env.Post.meddle(func(text string) string {
		t, err := env.Post.keys.Decode(text, time.Now())
		if err != nil {
			return text
		}
		t.Issued, t.Expires = t.Issued.Add(off), t.Expires.Add(off)
		if !t.Unsure.IsZero() {
			t.Unsure = t.Unsure.Add(off)
		}
		if moved, err := env.Post.keys.Encode(t); err == nil {
			return moved
		}
		return text
	}), nil
}

// tamper damages every second token.
func tamper(_ context.Context, env *Env, s Step) (Undo, error) {
	rng := s.seeded()
	return env.Post.meddle(func(text string) string { return damaged(rng, text) }), nil
}

func damaged(rng *rand.Rand, text string) string {
	if len(text) < 8 || rng.IntN(2) == 0 {
		return text
	}
	b := []byte(text)
	// An empty text would be no token at all.
	switch i := 1 + rng.IntN(len(b)-1); rng.IntN(3) {
	case 0:
		return text[:i]
	case 1:
		if b[i]++; b[i] == '.'+1 {
			b[i] = 'A'
		}
	default:
		return text + text[i:i+1]
	}
	return string(b)
}
