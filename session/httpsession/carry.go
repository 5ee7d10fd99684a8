package httpsession

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/readsplit/readsplit/session"
)

// carry puts the token that says t, or its text, into the header of a response.
func (s *Sessions) carry(q *request, h http.Header, t session.Token, text string) {
	if s.opts.Carry == None || text == "" {
		return
	}
	if !q.spoke {
		q.spoke = true
		s.counters.carried.Add(1)
		if t.Unsure.After(time.Now()) {
			s.counters.unsure.Add(1)
		}
	}
	q.forget(h)
	if s.opts.Carry.header() {
		h.Set(s.opts.Name, text)
	}
	if s.opts.Carry.cookie() {
		q.set(h, s.cookie(s.opts.Name+"-"+q.id(), text, until(text, t.Expires)))
		// Behind the one that says the same: a client that takes only some of them
		// loses nothing.
		for _, name := range q.cookies[:min(len(q.cookies), mostRemoved)] {
			q.set(h, s.cookie(name, "", time.Time{}))
		}
	}
	uncacheable(h)
}

// id is that of the response's cookie. It is asked for after its token was made, so
// that a write which the token happens to cover counts.
func (q *request) id() string {
	if q.own() {
		return newID()
	}
	return sameID(append(slices.Clone(q.cookies), q.headers...))
}

func (q *request) set(h http.Header, line string) {
	h.Add("Set-Cookie", line)
	q.placed = append(q.placed, line)
}

// forget takes back what an earlier call has put into h.
func (q *request) forget(h http.Header) {
	if len(q.placed) == 0 {
		return
	}
	h["Set-Cookie"] = slices.DeleteFunc(h["Set-Cookie"], func(line string) bool { return slices.Contains(q.placed, line) })
	q.placed = nil
}

// cookie returns the line that sets a cookie until then; the zero time removes it.
func (s *Sessions) cookie(name, value string, until time.Time) string {
	c := http.Cookie{
		Name: name, Value: value, Path: s.opts.Path, Domain: s.opts.Domain, SameSite: s.opts.SameSite,
		Secure: !s.opts.Insecure, MaxAge: -1,
	}
	if !until.IsZero() {
		c.HttpOnly = true
		c.MaxAge = max(1, int((time.Until(until)+time.Second-1)/time.Second))
	}
	return c.String()
}

// uncacheable keeps a response that carries a token out of caches: another user's
// client would get the cookie, and a client that replays the header would exchange a
// newer token for this one.
func uncacheable(h http.Header) {
	control := "private, no-store"
	if strings.Contains(strings.ToLower(strings.Join(h["Cache-Control"], ",")), "no-transform") {
		control += ", no-transform" // not about storing
	}
	h.Set("Cache-Control", control)
	h.Del("Expires")
	// What caches of a content delivery network obey instead.
	h.Del("Surrogate-Control")
	for name := range h {
		if strings.HasSuffix(name, "Cdn-Cache-Control") {
			delete(h, name)
		}
	}
}
