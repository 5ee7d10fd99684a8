package grpcsession

import (
	"context"

	"google.golang.org/grpc/metadata"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
)

// call is one call on a server, and what its session was told.
type call struct {
	of      *Sessions
	session *readsplit.Session
	ctx     context.Context // as the call came
	user    string          // in the store; "" is not known
	owed    *session.Token  // what the store lacks of the user; nil: nothing
	told    int             // tokens that came
}

// nothing is what an answer says when nothing was written and the call failed: the
// client then knows that nothing was lost.
const nothing = "-"

// attempts is the key under which gRPC says how often it has tried a call before.
const attempts = "grpc-previous-rpc-attempts"

// begin gives a call its session, with what came joined, and its marks.
func (s *Sessions) begin(ctx context.Context, method string) (context.Context, *call) {
	s.counters.calls.Add(1)
	c := &call{of: s, session: readsplit.NewSession(), ctx: ctx}
	for _, token := range metadata.ValueFromIncomingContext(ctx, Key) {
		if c.told++; c.told > maxJoined {
			s.counters.tooMany.Add(1)
			c.session.DoubtAlone()
			break
		}
		if token != nothing {
			c.session.Join(token)
		}
	}
	c.recall()
	if !s.onlyReads(method) {
		// A service that has lost the context of its call is covered too.
		c.session.CoverUnscoped()
		if len(metadata.ValueFromIncomingContext(ctx, attempts)) > 0 {
			// gRPC itself calls again, and what earlier attempts answered is lost.
			c.session.DoubtAlone()
		}
	}
	return s.marked(readsplit.WithSession(ctx, c.session), method), c
}

// header returns what is known when the header of a stream goes out; nil: nothing.
func (c *call) header() metadata.MD {
	if !c.session.Changed() {
		return nil
	}
	return c.said(c.token())
}

// trailer returns what the call says at its end; nil: nothing.
func (c *call) trailer(failed bool) metadata.MD {
	if c.session.Changed() {
		c.keep()
	} else if c.told < 2 {
		if failed {
			return metadata.Pairs(Key, nothing)
		}
		return nil
	}
	return c.said(c.token())
}

func (c *call) said(token string) metadata.MD {
	if token == "" {
		return nil
	}
	c.of.counters.answered.Add(1)
	return metadata.Pairs(Key, token)
}

// token returns the session's token. It does not end with the call: what was written
// for a client that has gone is written.
func (c *call) token() string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.of.opts.Wait)
	defer cancel()
	token, err := c.session.Token(ctx)
	if err != nil { // a transaction is open
		c.of.counters.unsure.Add(1)
		return c.session.TokenNow()
	}
	return token
}
