package session

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

const (
	// MaxPositions is the most positions that one [Token] carries.
	MaxPositions = 3
	// MaxTokenLifetime is the longest time between Issued and Expires. A token
	// that says more would pin its session to the primary for longer than
	// anybody needs; rounding to whole seconds may add one second.
	MaxTokenLifetime = 30 * 24 * time.Hour
	// MaxTokenSkew is how far Issued may lie in the future of the process that
	// decodes the token, because its clock is behind.
	MaxTokenSkew = 5 * time.Minute
	// MaxTokenLength is the longest text that [Keys.Encode] returns, in bytes.
	MaxTokenLength = len(tokenPrefix) + (rawMax*8+5)/6
)

// Token is what a session must see, in a form that crosses processes. [Keys]
// turns it into a short text and back.
//
// Times are kept in whole seconds: Issued is rounded down, Expires and Unsure
// are rounded up, so that a token never promises less than it was given.
type Token struct {
	// Issued is when the token was made, Expires from when on it is void: at
	// most [MaxTokenLifetime] later.
	Issued  time.Time
	Expires time.Time
	// Unsure, unless zero, is until when reads go to the primary, because the
	// outcome of a write is unknown. It is not after Expires.
	Unsure time.Time
	// Positions holds at most one position per database cluster (System), and at
	// most [MaxPositions]; Encode sorts them by System.
	Positions []lsn.Position
}

const (
	maxLifetimeSeconds = int64(MaxTokenLifetime/time.Second) + 1 // both ends rounded outwards
	maxSeconds         = int64(1)<<(8*secondsSize) - 1
)

// stamp is a Token's times and positions as they are written: whole seconds
// since 1970, positions in order.
type stamp struct {
	issued, lifetime int64
	unsure           int64 // meaningless unless hasUnsure
	hasUnsure        bool
	n                int
	positions        [MaxPositions]lsn.Position
}

// stampOf rounds and sorts t; it fails on what cannot be written at all.
func stampOf(t *Token) (s stamp, err error) {
	if len(t.Positions) > MaxPositions {
		return s, fmt.Errorf("Token.Positions has %d entries: at most %d fit, one per database cluster", len(t.Positions), MaxPositions)
	}
	s.issued = t.Issued.Unix()
	if s.issued < 0 || s.issued > maxSeconds {
		return s, fmt.Errorf("Token.Issued is %v: set the time at which the token is made", t.Issued)
	}
	if t.Expires.Before(t.Issued) {
		return s, fmt.Errorf("Token.Expires is %v and before Issued, %v: it must not be earlier", t.Expires, t.Issued)
	}
	s.lifetime = ceilSeconds(t.Expires) - s.issued
	if !t.Unsure.IsZero() {
		s.hasUnsure, s.unsure = true, ceilSeconds(t.Unsure)
		if s.unsure < 0 {
			return s, fmt.Errorf("Token.Unsure is %v: set a time in the future, or leave it zero", t.Unsure)
		}
	}
	s.n = copy(s.positions[:], t.Positions)
	slices.SortFunc(s.positions[:s.n], func(a, b lsn.Position) int { return cmp.Compare(a.System, b.System) })
	return s, s.check()
}

// check holds for what is written and for what is read, so that whatever decodes
// can be encoded again.
func (s *stamp) check() error {
	switch {
	case s.lifetime > maxLifetimeSeconds:
		return fmt.Errorf("Token.Expires is %d s after Issued: at most %v is allowed", s.lifetime, MaxTokenLifetime)
	case s.hasUnsure && s.unsure > s.issued+s.lifetime:
		return fmt.Errorf("Token.Unsure is %d s after Expires: the token must outlive the doubt that it carries", s.unsure-s.issued-s.lifetime)
	}
	for i, p := range s.positions[:s.n] {
		if lsn.Compare(p, p) != lsn.Equal {
			return fmt.Errorf("position %d of %d is not a place in a history: leave it out", i+1, s.n)
		}
		if i > 0 && p.System <= s.positions[i-1].System {
			return fmt.Errorf("positions %d and %d of %d are of the same database cluster or out of order: one per cluster", i, i+1, s.n)
		}
	}
	return nil
}

// token returns the Token that s was made of, rounded.
func (s *stamp) token() Token {
	t := Token{Issued: time.Unix(s.issued, 0).UTC(), Expires: time.Unix(s.issued+s.lifetime, 0).UTC()}
	if s.hasUnsure {
		t.Unsure = time.Unix(s.unsure, 0).UTC()
	}
	if s.n > 0 {
		t.Positions = append(t.Positions, s.positions[:s.n]...)
	}
	return t
}

// ceilSeconds rounds up: a token that ends a fraction of a second early would
// let a read through that its session still has to be protected from.
func ceilSeconds(t time.Time) int64 {
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return s
}
