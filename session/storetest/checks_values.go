package storetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

func unknownUser(e *env) {
	for _, user := range []string{"nobody", ""} {
		if got := e.load(e.store, user); len(got.Positions) > 0 || !got.Unsure.IsZero() {
			e.add("Load of %q, who has written nothing, says %v", user, got)
		}
	}
	e.advance(e.store, "ann", token(position(5)))
	if got := e.load(e.store, "nobody"); len(got.Positions) > 0 || !got.Unsure.IsZero() {
		e.add("Load of a user who has written nothing says %v, since another one wrote", got)
	}
}

func loads(e *env) {
	big := positionOf(1<<64-1, 1<<32-1, 1<<62+3, 1<<64-2)
	small := positionOf(1, 1, 1, 1)
	for user, t := range map[string]session.Token{
		"one": token(small), "large numbers": token(big), "several": token(small, positionOf(2, 3, 4, 5), big),
	} {
		e.advance(e.store, user, t)
		e.expect(e.store, user, t)
		e.expect(e.store, user, t) // reading takes nothing away
	}
	e.advance(e.store, "nothing", session.Token{})
	if got := e.load(e.store, "nothing"); len(got.Positions) > 0 || !got.Unsure.IsZero() {
		e.add("after an Advance that says nothing, Load says %v", got)
	}
}

// inAnyOrder advances two tokens, in both orders, and expects what both say.
func (e *env) inAnyOrder(what string, a, b session.Token) {
	for order, list := range map[string][]session.Token{" first": {a, b}, " last": {b, a}, " twice": {a, b, a, b}} {
		for i, t := range list {
			e.advance(e.store, what+order, t)
			e.expect(e.store, what+order, list[:i+1]...)
		}
	}
}

func further(e *env) {
	e.inAnyOrder("before and after", token(position(5)), token(position(7)))
	e.inAnyOrder("numbers that begin alike", token(position(9)), token(position(10)))
	e.inAnyOrder("high bits", token(position(1<<63)), token(position(1<<63-1)))
	e.inAnyOrder("beyond what a float can tell", token(position(1<<60+1)), token(position(1<<60)))
	e.inAnyOrder("bytes above 127", token(position(0x80)), token(position(0x7fff)))
	e.inAnyOrder("other databases", token(position(5)), token(positionOf(2, 1, 1, 7)))
	e.inAnyOrder("both, crosswise", token(position(5), positionOf(2, 1, 1, 7)), token(position(6), positionOf(2, 1, 1, 6)))
	e.inAnyOrder("systems in another order", token(positionOf(9, 1, 1, 7), position(5)), token(positionOf(4, 1, 1, 6)))
}

func histories(e *env) {
	e.inAnyOrder("a promotion", token(positionOf(1, 1, 9, 500)), token(positionOf(1, 2, 3, 7)))
	e.inAnyOrder("timelines that begin alike", token(positionOf(1, 9, 1, 500)), token(positionOf(1, 10, 1, 7)))
	e.inAnyOrder("a restart", token(positionOf(1, 1, 100, 5)), token(positionOf(1, 1, 200, 7)))
	e.inAnyOrder("a restored snapshot", token(positionOf(1, 1, 100, 9)), token(positionOf(1, 1, 200, 7)))
	e.inAnyOrder("one of two databases", token(position(500), positionOf(2, 1, 1, 5)), token(positionOf(1, 2, 1, 7)))
}

func unsure(e *env) {
	now := time.Now()
	doubt := func(until time.Time, positions ...lsn.Position) session.Token {
		t := token(positions...)
		t.Unsure = until
		return t
	}
	e.inAnyOrder("alone", doubt(now.Add(time.Minute)), doubt(now.Add(time.Minute)))
	e.inAnyOrder("the later", doubt(now.Add(time.Minute)), doubt(now.Add(2*time.Minute)))
	e.inAnyOrder("with a position", doubt(now.Add(time.Minute), position(5)), token(position(7)))
	// A doubt that has passed still asks for what the primary has then.
	e.inAnyOrder("passed", doubt(now.Add(-time.Minute)), token(position(7)))
	e.inAnyOrder("passed long ago", doubt(time.Unix(1, 0)), doubt(time.Unix(2, 0), position(7)))
}

func tooMany(e *env) {
	a := token(positionOf(1, 1, 1, 5), positionOf(2, 1, 1, 5), positionOf(4, 1, 1, 5))
	b := token(positionOf(3, 1, 1, 5), positionOf(1, 1, 1, 6))
	e.inAnyOrder("more than a token holds", a, b)
}

func copied(e *env) {
	given := token(position(5))
	want := token(position(5))
	e.advance(e.store, "ann", given)
	given.Positions[0].LSN = 1
	got := e.load(e.store, "ann")
	if len(got.Positions) != 1 || got.Positions[0] != want.Positions[0] {
		e.add("what was advanced follows the caller's slice: %v", got.Positions)
		return
	}
	got.Positions[0].LSN = 2
	if got = e.load(e.store, "ann"); len(got.Positions) != 1 || got.Positions[0] != want.Positions[0] {
		e.add("what is kept follows the slice that Load returned: %v", got.Positions)
	}
}

func names(e *env) {
	long := strings.Repeat("x", 4096)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	list := []string{
		"", " ", "  ", "ann", "Ann", "ann ", " ann", "ann\n", "a\x00b", "a\x00c", "\x00", "\x00\x00", "{ann}", "{}ann", "ann:1", "ann*", "?nn", "a/b", "../ann",
		"'; DROP", "%s%d", "é", "e\u0301", "日本", "\xff\xfe", "\xff", string(every), string(every[1:]), "1", "01", "1.0", "true", "null",
		long, long + "y", long + "z", long[1:], "y" + long,
	}
	for i, user := range list {
		e.advance(e.store, user, token(position(uint64(i+1))))
	}
	for i, user := range list {
		if got := e.load(e.store, user); !slices.Equal(got.Positions, []lsn.Position{position(uint64(i + 1))}) || !got.Unsure.IsZero() {
			e.add("Load(%s) says %v, want what user %d has written", short(user), got, i+1)
		}
	}
}

func expiry(e *env) {
	start := time.Now()
	soon := session.Token{Issued: start, Expires: start.Add(1500 * time.Millisecond), Unsure: start.Add(time.Second), Positions: []lsn.Position{position(5)}}
	later := token(position(4))
	e.advance(e.store, "gone", session.Token{Issued: start.Add(-time.Hour), Expires: start.Add(-time.Second), Positions: []lsn.Position{position(5)}})
	if got := e.load(e.store, "gone"); len(got.Positions) > 0 {
		e.add("a token that had expired is kept: %v", got)
	}
	e.advance(e.store, "soon", soon)
	e.advance(e.store, "extended", soon)
	e.advance(e.store, "extended", later)
	e.advance(e.store, "not shortened", later)
	e.advance(e.store, "not shortened", soon)
	got := e.load(e.store, "soon")
	if time.Now().Before(soon.Expires) && len(got.Positions) != 1 {
		e.add("%v before it expires a token says %v", time.Until(soon.Expires), got)
	}
	e.eventually("a token expires", 1500*time.Millisecond+2*slack, func(ctx context.Context) bool {
		got, err := e.store.Load(ctx, "soon")
		return err == nil && len(got.Positions) == 0 && got.Unsure.IsZero()
	})
	if early := time.Until(soon.Expires); early > 0 {
		e.add("a token was gone %v before it expires", early)
	}
	for _, user := range []string{"extended", "not shortened"} {
		got := e.load(e.store, user)
		if !slices.Contains(got.Positions, position(5)) || got.Expires.Before(later.Expires) {
			e.add("%s: after a token and another one that ends later, Load says %v", user, got)
		}
	}
}
