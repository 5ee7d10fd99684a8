package httpsession

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/readsplit/readsplit/session"
)

// mostJoined bounds how many tokens of one request are joined. A client has one, and
// one more for each writing response that overlapped with others; beyond that somebody
// plays with it, and the session is in doubt.
const mostJoined = 32

// mostRemoved bounds how many cookies one response removes: proxies refuse a header of
// more than 4 KiB. The next response removes the next.
const mostRemoved = mostJoined

// request is one request and what its session was told.
type request struct {
	of      *Sessions
	ctx     context.Context
	session ledger
	seen    *http.Request // as the handler has it, with the pattern that a mux finds
	unsafe  bool          // its method may write

	cookies []string // names of the cookies that came, each once
	headers []string // values of the header that came
	over    bool     // more came than were joined

	mu    sync.Mutex // of what follows: a handler may identify its user at any time
	user  string     // in the store; "" is not known
	debts []*debt    // what the store has not taken yet
	// behind says that the client brought what the store does not have, byStore that
	// the session was as it came until the store was asked.
	behind, byStore bool

	told   uint64    // the writes that the response tells
	doubt  time.Time // until when it says "unsure"
	spoke  bool      // the response carries a token
	placed []string  // the Set-Cookie lines of the response that are ours
}

// arrive joins what came with r.
func (q *request) arrive(r *http.Request) {
	o := &q.of.opts
	joined := 0
	join := func(token string) {
		if joined++; joined > mostJoined {
			q.over = true
			return
		}
		q.session.Join(token)
	}
	if o.Carry.cookie() && mentions(r.Header["Cookie"], o.Name) {
		names := make(map[string]bool)
		for _, c := range r.Cookies() {
			if !ours(o.Name, c.Name) {
				continue
			}
			join(c.Value)
			if !names[c.Name] {
				names[c.Name] = true
				q.cookies = append(q.cookies, c.Name)
			}
		}
	}
	if o.Carry.header() {
		for _, line := range r.Header.Values(o.Name) {
			for token := range strings.SplitSeq(line, ",") {
				if q.over {
					break // a header of a megabyte has half a million
				}
				if token = strings.TrimSpace(token); token != "" {
					join(token)
					q.headers = append(q.headers, token)
				}
			}
		}
	}
	if q.over {
		q.session.DoubtAlone() // any client can bring so many
		q.of.counters.tooMany.Add(1)
	}
	if o.User != nil {
		q.recall(o.User(r))
	}
}

func mentions(lines []string, name string) bool {
	for _, line := range lines {
		if strings.Contains(line, name) {
			return true
		}
	}
	return false
}

// unfinished reports whether something may be committed that the response has to tell.
// A transaction without a session may be another request's: it is waited for until the
// handler has returned and no longer.
func (q *request) unfinished() bool { return q.session.InTransaction() || q.session.UnscopedOpen() }

// hurry says that the response goes out before the handler has returned, and makes it
// say "unsure" if something is unfinished.
func (q *request) hurry() {
	if !q.unfinished() {
		return
	}
	q.of.counters.sentTooEarly.Add(1)
	q.of.mistake(sentTooEarly, q.place(), remedyEarly)
	if !q.session.InTransaction() {
		q.session.DoubtAlone() // the session does not know of it
	}
}

// tell puts what the session must see into the header of the response and into the
// store. It may be called again: the last time counts.
func (q *request) tell(h http.Header) {
	now := q.session.InTransaction() // no position can be had
	changed := q.session.Changed()   // finds rows that were closed since, and so comes first
	told, shown := q.session.Moves() // before the position is captured: it covers no later ones
	q.told = told
	did := now || q.did()
	owes, byStore := q.owes()
	// What the store alone has told comes from there again with the next request.
	speaks := did || changed && !byStore || len(q.cookies) > 1 || len(q.headers) > 1
	if !speaks && !owes {
		return
	}
	t := q.export()
	if t.Expires.IsZero() && q.session.TokenNow() == "" {
		return // nothing to see, here or in other services
	}
	if (did || owes) && !t.Expires.IsZero() {
		var doubtful bool
		t, doubtful = q.keep(t)
		speaks = speaks || doubtful
	}
	if speaks {
		q.doubt = t.Unsure
		text := q.session.Text(t)
		if writes, seen := q.session.Moves(); writes != told || seen != shown {
			text = q.session.TokenNow() // the handler goes on beside its response
		}
		q.of.carry(q, h, t, text)
	}
}

// owes reports whether the store lacks something of the user, and whether all that has
// changed about the session came from the store.
func (q *request) owes() (owes, byStore bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.behind || len(q.debts) > 0, q.byStore
}

// export returns what the session must see. It does not end with the request: what the
// handler of a client that has gone wrote is written.
func (q *request) export() session.Token {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.ctx), q.of.opts.Wait)
	defer cancel()
	if t, err := q.session.Export(ctx); err == nil {
		return t
	}
	return q.session.ExportNow() // a transaction is open
}

// did reports whether the session did something of its own, beside what it was told.
func (q *request) did() bool {
	writes, shown := q.session.Moves()
	return writes > 0 || shown > 0 || q.unsafe && q.session.Changed()
}

// own reports whether the response tells what no other response can tell: something
// that its own request did.
func (q *request) own() bool {
	if !q.over {
		return q.did()
	}
	// It is in doubt, which says all but what was written.
	writes, _ := q.session.Moves()
	return writes > 0
}

// late reports whether the session wrote after the response had told everything, and
// whether it was told of that nevertheless, by a doubt that is not over yet.
func (q *request) late() (late, covered bool) {
	writes, _ := q.session.Moves()
	return writes > q.told, q.of.opts.Carry != None && time.Now().Before(q.doubt)
}

// place names where the request is handled, for a log line that is written once.
func (q *request) place() string {
	if q.seen.Pattern != "" {
		return q.seen.Pattern
	}
	return q.seen.Method + " " + q.seen.URL.Path
}
