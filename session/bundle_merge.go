package session

import (
	"encoding/base64"
	"slices"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// Merge returns what says to every service at least what b and o say. Of two
// tokens of one service the one that says more is kept; where that cannot be told
// without a key or a server, both are. Merge never fails: what finds no room
// becomes a doubt of the service that it was for.
func (b Bundle) Merge(o Bundle) Bundle {
	if o.Empty() {
		return b
	}
	if b.Empty() {
		return o
	}
	b.crowded = b.crowded || o.crowded
	for _, p := range o.parts {
		if i, found := b.find(p.service); found {
			p = b.parts[i].merge(p)
		}
		b = b.set(p)
	}
	return b.fit()
}

// Answered returns b after an answer to a question that carried sent. What it says to
// a service says at least what sent said: it takes the place of that, so that a doubt
// ends and several tokens become one. What b has got since is merged.
func (b Bundle) Answered(sent, answer Bundle) Bundle {
	for _, p := range answer.parts {
		now, found := b.find(p.service)
		if then, known := sent.find(p.service); found && known && b.parts[now].equal(sent.parts[then]) {
			b = b.without(p.service)
		}
	}
	return b.Merge(answer)
}

func (p part) equal(o part) bool { return slices.Equal(p.tokens, o.tokens) }

func (p part) merge(o part) part {
	if len(p.tokens) == 0 || len(o.tokens) == 0 {
		return part{service: p.service} // a doubt says more than any token
	}
	tokens := slices.Clone(p.tokens)
	for _, t := range o.tokens {
		if slices.ContainsFunc(tokens, func(have string) bool { return covers(have, t) }) {
			continue
		}
		tokens = slices.DeleteFunc(tokens, func(have string) bool { return covers(t, have) })
		tokens = append(tokens, t)
	}
	if len(tokens) > maxPartTokens {
		return part{service: p.service}
	}
	slices.Sort(tokens)
	return part{p.service, tokens}
}

// fit makes room. First services whose tokens are several are in doubt instead, then
// those lose theirs who were silent for the longest time.
func (b Bundle) fit() Bundle {
	for len(b.String()) > MaxBundleLength {
		victim := -1
		for i, p := range b.parts {
			if len(p.tokens) > 1 && (victim < 0 || len(p.tokens) > len(b.parts[victim].tokens)) {
				victim = i
			}
		}
		if victim >= 0 {
			b = b.set(part{service: b.parts[victim].service})
			continue
		}
		for i, p := range b.parts {
			if victim < 0 || p.issued() < b.parts[victim].issued() {
				victim = i
			}
		}
		b = b.without(b.parts[victim].service)
		b.crowded = true
	}
	return b
}

// Expires returns until when the last token of b counts, as far as they say it; the
// zero time: none does.
func (b Bundle) Expires() (last time.Time) {
	for _, p := range b.parts {
		for _, text := range p.tokens {
			if t, ok := peek(text); ok && t.Expires.After(last) {
				last = t.Expires
			}
		}
	}
	return last
}

// issued is when a part's token says that it was made, in seconds since 1970; 0: it
// does not say.
func (p part) issued() int64 {
	if len(p.tokens) == 0 {
		return 0
	}
	t, ok := peek(p.tokens[0])
	if !ok {
		return 0
	}
	return t.Issued.Unix()
}

// covers reports whether whoever joins token a has no use for token b any more. No
// signature is looked at: a forged a that hides a genuine b is refused by its
// service, which then sees what the primary has, and that is more.
func covers(a, b string) bool {
	if a == b {
		return true
	}
	x, ok := peek(a)
	if !ok {
		return false
	}
	y, ok := peek(b)
	if !ok || y.Expires.After(x.Expires) || y.Unsure.After(x.Unsure) {
		return false
	}
	for _, p := range y.Positions {
		if !slices.ContainsFunc(x.Positions, func(q lsn.Position) bool {
			order := lsn.Compare(q, p)
			return order == lsn.After || order == lsn.Equal
		}) {
			return false
		}
	}
	return true
}

// peek reads a token without asking whether it is genuine.
func peek(text string) (Token, bool) {
	if len(text) > MaxTokenLength || versionOf(text) != nil {
		return Token{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(text[len(tokenPrefix):])
	if err != nil {
		return Token{}, false
	}
	body, _, _, refused := layout(raw)
	if refused != nil {
		return Token{}, false
	}
	s := parseStamp(body)
	if s.check() != nil {
		return Token{}, false
	}
	return s.token(), true
}
