package grpcsession

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/readsplit/readsplit/session"
)

// Key is the metadata key under which tokens travel, in both directions.
const Key = "x-last-write-lsn"

// Mark is what the calls of a method ask for: readsplit.UseReplica, Fresh, Stale,
// ReadOnly, [AtMost], [Group], [OneServer], or several by [All].
type Mark = func(context.Context) context.Context

// Options say how sessions travel. The zero value of every field is right.
type Options struct {
	// Wait is how long a call and an answer may wait for the position of what was
	// written, and for the store; then they say "unsure". At most 1 s. Defaults to 1 s.
	Wait time.Duration

	// Methods are marks by full method name, "/shop.Orders/List", or for all methods
	// of a service, "/shop.Reports/". The mark of a method goes on top of that of its
	// service. A server applies them; clients look at them for ReadOnly alone, which
	// says that a call without an answer leaves no doubt. Defaults to none.
	Methods map[string]Mark

	// Peer is the name of the service that a client calls, where that has another
	// readsplit.Config.Service than the caller: a call that was broken off then leaves
	// a doubt there, and none here. Servers do not look at it. Defaults to that of the
	// caller.
	Peer string

	// Store keeps what users must see beside the metadata, for clients that do not
	// pass it on. Servers alone look at it. Needs User. Defaults to none.
	Store session.Store

	// User names who calls, in the Store; "" where that is not known: then the Store
	// is not asked. Interceptors that authenticate come before these, or it finds
	// nobody. Needs Store.
	User func(ctx context.Context) string
}

const (
	maxWait = time.Second // a session waits no longer for a position
	// maxJoined bounds how many tokens of one call are joined. A client sends one,
	// and a proxy that copies metadata a few; beyond that the session is in doubt.
	maxJoined = 16
)

func (o Options) withDefaults() Options {
	if o.Wait == 0 {
		o.Wait = maxWait
	}
	return o
}

// validate reports every problem at once. o has its defaults.
func (o Options) validate() error {
	var errs []error
	add := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("readsplit: grpcsession: Options."+format, args...))
	}
	if o.Wait < 0 || o.Wait > maxWait {
		add("Wait is %v: it must be positive and at most %v (0 means the default)", o.Wait, maxWait)
	}
	if err := session.CheckService(o.Peer); err != nil {
		add("Peer: %w", err)
	}
	switch {
	case o.Store == nil && o.User != nil:
		add("User is set, but Store is nil: there is nothing to ask about users; set Store, or leave User out")
	case o.Store != nil && o.User == nil:
		add("User is nil, but Store is set: it is asked by user; set User to what names who calls")
	}
	for _, name := range sorted(o.Methods) {
		if !isMethod(name) {
			add(`Methods has %q: it must be the full name of a method, "/package.Service/Method", or of a service, "/package.Service/"`, name)
		}
		if o.Methods[name] == nil {
			add("Methods[%q] is nil: name a mark, or leave the method out", name)
		}
	}
	return errors.Join(errs...)
}
