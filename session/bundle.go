package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	// MaxBundleLength is the longest text of a [Bundle], in bytes: it fits into one
	// cookie.
	MaxBundleLength = 3000
	// MaxServiceName is the longest name of a service, in bytes.
	MaxServiceName = 32
	// maxPartTokens is how many tokens of one service travel side by side because
	// nobody on the way can tell which of them says more.
	maxPartTokens = 4
	// maxPartLength bounds the token of a service that may be of another version.
	maxPartLength = 200
)

const (
	bundlePrefix = "b1"
	// everyone stands in a text for all services without a part of their own: there
	// was more than fits.
	everyone = "*"
)

// Bundle holds the tokens of several services, so that a request that passes
// through one of them carries what it must see in the others. Whoever passes a
// bundle on needs no key of theirs: their tokens stay the texts that they are. The
// zero Bundle is empty. A Bundle is a value that is never changed.
//
// A service is known by its name, readsplit.Config.Service. The empty name is that
// of every service which was given none, and a bundle of that part alone is written
// as the bare token, so that an application of one service never meets a bundle.
type Bundle struct {
	parts []part // in ascending order of service
	// crowded says that parts were left out.
	crowded bool
}

// part is what one service said. Without tokens it is lost: there was something to
// see, and what is not known any more.
type part struct {
	service string
	tokens  []string // ascending
}

// CheckService says what is wrong with the name of a service: it is at most
// [MaxServiceName] letters, digits, dots, dashes and underscores. The empty name is
// right.
func CheckService(name string) error {
	if len(name) > MaxServiceName || !plain(name) {
		return fmt.Errorf("%q is not the name of a service: use at most %d letters, digits, dots, dashes and underscores", name, MaxServiceName)
	}
	return nil
}

// plain reports whether s has only characters that may stand in a cookie, a header
// and a URL, and that do not part the parts of a bundle.
func plain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

func checkPart(token string) error {
	if len(token) > maxPartLength || !plain(token) {
		return malformed("a part of it is no token")
	}
	return nil
}

// Empty reports whether b says nothing.
func (b Bundle) Empty() bool { return len(b.parts) == 0 && !b.crowded }

// Services returns the names of the services that b has a part of, in ascending
// order.
func (b Bundle) Services() []string {
	var names []string
	for _, p := range b.parts {
		names = append(names, p.service)
	}
	return names
}

// Tokens returns what b says to a service: one token, or several of which each must
// be joined. lost says that there was more: the service is in doubt, as after a
// token that it cannot trust.
func (b Bundle) Tokens(service string) (tokens []string, lost bool) {
	i, found := b.find(service)
	if !found {
		return nil, b.crowded
	}
	p := b.parts[i]
	return slices.Clone(p.tokens), len(p.tokens) == 0
}

func (b Bundle) find(service string) (int, bool) {
	return slices.BinarySearchFunc(b.parts, service, func(p part, name string) int { return cmp.Compare(p.service, name) })
}

// With returns b with token in place of what b says to a service; an empty token
// leaves nothing. It fails on a name that [CheckService] refuses and on a text that
// cannot be a token.
func (b Bundle) With(service, token string) (Bundle, error) {
	if err := CheckService(service); err != nil {
		return b, fmt.Errorf("readsplit: %w", err)
	}
	if err := checkPart(token); err != nil {
		return b, err
	}
	if token == "" {
		return b.without(service), nil
	}
	return b.set(part{service, []string{token}}).fit(), nil
}

// Lose returns b with a doubt in place of what b says to a service: something was
// written there, perhaps, and its token did not come back. A name that
// [CheckService] refuses changes nothing.
func (b Bundle) Lose(service string) Bundle {
	if CheckService(service) != nil {
		return b
	}
	return b.set(part{service: service}).fit()
}

func (b Bundle) set(p part) Bundle {
	i, found := b.find(p.service)
	parts := slices.Clone(b.parts)
	if found {
		parts[i] = p
	} else {
		parts = slices.Insert(parts, i, p)
	}
	return Bundle{parts, b.crowded}
}

func (b Bundle) without(service string) Bundle {
	i, found := b.find(service)
	if !found {
		return b
	}
	return Bundle{slices.Delete(slices.Clone(b.parts), i, i+1), b.crowded}
}

// String returns the text of b: letters, digits, dots, dashes, underscores, tildes
// and at most one asterisk, at most [MaxBundleLength] bytes. [ParseBundle] reads it
// back.
func (b Bundle) String() string {
	if len(b.parts) == 1 && b.parts[0].service == "" && len(b.parts[0].tokens) == 1 && !b.crowded {
		return b.parts[0].tokens[0]
	}
	if b.Empty() {
		return ""
	}
	var s strings.Builder
	s.WriteString(bundlePrefix)
	entry := func(name, token string) {
		for _, word := range [...]string{"~", name, "~", token} {
			s.WriteString(word)
		}
	}
	if b.crowded {
		entry(everyone, "")
	}
	for _, p := range b.parts {
		if len(p.tokens) == 0 {
			entry(p.service, "")
		}
		for _, token := range p.tokens {
			entry(p.service, token)
		}
	}
	return s.String()
}

// IsBundle reports whether a text begins as that of several services does; else it
// is a bare token, or nothing.
func IsBundle(text string) bool { return strings.HasPrefix(text, bundlePrefix+"~") }

// ParseBundle reads what [Bundle.String] wrote and nothing else. The error is a
// [*TokenError] and never contains the text.
func ParseBundle(text string) (Bundle, error) {
	if len(text) > MaxBundleLength {
		return Bundle{}, malformed("it is longer than any bundle of tokens")
	}
	if !IsBundle(text) {
		var b Bundle
		if err := checkPart(text); err != nil {
			return b, err
		}
		if text != "" {
			b.parts = []part{{"", []string{text}}}
		}
		return b, nil
	}
	words := strings.Split(text[len(bundlePrefix)+1:], "~")
	if len(words)%2 != 0 {
		return Bundle{}, malformed("a part of it has no token")
	}
	var b Bundle
	for i := 0; i < len(words); i += 2 {
		name, token := words[i], words[i+1]
		if name == everyone && token == "" && i == 0 {
			b.crowded = true
			continue
		}
		if CheckService(name) != nil {
			return Bundle{}, malformed("a part of it is of no service")
		}
		if err := checkPart(token); err != nil {
			return Bundle{}, err
		}
		if n := len(b.parts); n > 0 && b.parts[n-1].service == name {
			last := &b.parts[n-1]
			if len(last.tokens) == maxPartTokens || len(last.tokens) == 0 || token <= last.tokens[len(last.tokens)-1] {
				return Bundle{}, malformed("the tokens of a part are out of order, or too many")
			}
			last.tokens = append(last.tokens, token)
			continue
		} else if n > 0 && name < b.parts[n-1].service {
			return Bundle{}, malformed("its parts are out of order")
		}
		p := part{service: name}
		if token != "" {
			p.tokens = []string{token}
		}
		b.parts = append(b.parts, p)
	}
	if b.String() != text {
		return Bundle{}, malformed("it is not in canonical form")
	}
	return b, nil
}
