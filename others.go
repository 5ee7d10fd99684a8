package readsplit

import (
	"fmt"

	"github.com/readsplit/readsplit/session"
)

// JoinAnswer is Join for a token that came back from another process which was asked
// on behalf of s; sent is the token that went there. It counts as a write of s for
// Changed and Moves: whoever carries s has not heard of it yet, and hears of it from
// nobody else. An empty token does nothing.
func (s *Session) JoinAnswer(sent, token string) {
	if token != "" {
		s.keep(token, sent)
		s.arrive(arrival{text: token})
		s.writes.Add(1)
		s.changed.Store(true)
	}
}

// keep remembers what a text says to other services, for the tokens of s; sent is what
// it answers. A text that cannot be read says nothing to them.
func (s *Session) keep(text, sent string) {
	if !session.IsBundle(text) {
		if name, known := s.service(); known && name == "" {
			return // of this service
		}
	}
	b, err := session.ParseBundle(text)
	if err != nil {
		return // whose plugin is in use counts it
	}
	asked, _ := session.ParseBundle(sent) // empty if it cannot be read
	s.mu.Lock()
	defer s.mu.Unlock()
	s.others = s.others.Answered(asked, b)
}

// service returns the name under which this process finds and leaves its own part of
// a bundle. known is false where no plugin is in use: nothing is its own.
func (s *Session) service() (name string, known bool) {
	for _, rt := range plugins.all() {
		return rt.cfg.Service, true
	}
	for _, l := range s.ledgers() {
		return l.plugin.Load().cfg.Service, true // it was closed
	}
	return "", false
}

// among returns the text of own, the token of this service, among those that came
// for others.
func (s *Session) among(own string) string {
	s.mu.Lock()
	others := s.others
	s.mu.Unlock()
	name, known := s.service()
	switch {
	case !known:
		return others.String()
	case name == "" && others.Empty():
		return own
	}
	all, err := others.With(name, own)
	if err != nil {
		return own // never: the name was checked, and own is a token
	}
	return all.String()
}

// lostPart is joined where a bundle says that a part of this service was lost. It is
// no token, and so makes the session unsure.
const lostPart = "lost"

// parts returns what of a text rt has to judge.
func (rt *router) parts(text string) []string {
	if rt.cfg.Service == "" && !session.IsBundle(text) {
		return []string{text}
	}
	b, err := session.ParseBundle(text)
	if err != nil {
		return []string{text} // refused, counted
	}
	tokens, lost := b.Tokens(rt.cfg.Service)
	if len(tokens) == 0 {
		// Of before this service had its name: a user must not lose it by a deploy.
		if unnamed, _ := b.Tokens(""); len(unnamed) > 0 {
			tokens, lost = unnamed, false
		}
	}
	if lost {
		return []string{lostPart}
	}
	return tokens
}

// oneService reports that plugins of this process disagree about whose process it is:
// a session's token stands under one name.
func oneService(c Config) error {
	for _, rt := range plugins.all() {
		if rt.cfg.Service != c.Service {
			return fmt.Errorf("readsplit: Config.Service is %q, and %q in another plugin of this process: sessions cross all plugins, so give all the same name", c.Service, rt.cfg.Service)
		}
	}
	return nil
}
