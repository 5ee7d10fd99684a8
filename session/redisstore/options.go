package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/readsplit/readsplit/session"
)

// Options configure a [Store]. Zero values are right.
type Options struct {
	// Prefix begins every key; it holds no braces, which are what keeps the keys of a
	// call on one node of a cluster. Defaults to "readsplit:".
	Prefix string
	// Timeout is the longest that Load and Advance take, whatever their context and
	// the client's own timeouts say: a request waits for them. Defaults to 50 ms.
	Timeout time.Duration
	// Lifetime is for how long after a loss users are unsure: as long as a token
	// counts that may have been lost. Tokens that were seen to count longer make it
	// longer; it is what holds when nothing is known of them, because Redis has
	// forgotten that too and this process has stored nothing yet. Defaults to 10 min.
	Lifetime time.Duration
	// StickyWindow is what readsplit.Config.StickyWindow is: how long the outcome of
	// a write can stay unknown. After a loss reads go to the primary for so long, and
	// after it to replicas that have what the primary has when they begin. Defaults to 5 s.
	StickyWindow time.Duration
}

const (
	defaultPrefix       = "readsplit:"
	defaultTimeout      = 50 * time.Millisecond
	defaultLifetime     = 10 * time.Minute
	defaultStickyWindow = 5 * time.Second
)

// complete returns o with its defaults, or all that is wrong with it.
func (o Options) complete(client redis.UniversalClient) (Options, error) {
	if o.Prefix == "" {
		o.Prefix = defaultPrefix
	}
	for _, d := range []struct {
		field *time.Duration
		or    time.Duration
	}{{&o.Timeout, defaultTimeout}, {&o.Lifetime, defaultLifetime}, {&o.StickyWindow, defaultStickyWindow}} {
		if *d.field == 0 {
			*d.field = d.or
		}
	}
	var problems []error
	problem := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("readsplit: redisstore: "+format, args...))
	}
	switch client.(type) {
	case nil:
		problem("client is nil: give it a *redis.Client, *redis.ClusterClient or failover client")
	case *redis.Ring:
		problem("client is a *redis.Ring, which moves keys between servers that know nothing of each other: use a single server, Sentinel or Redis Cluster")
	}
	if strings.ContainsAny(o.Prefix, "{}") {
		problem("Options.Prefix is %q: leave out braces, they decide which node of a cluster has a key", o.Prefix)
	}
	if o.Timeout < 0 {
		problem("Options.Timeout is %v: it must be positive, or 0 for %v", o.Timeout, defaultTimeout)
	}
	if o.StickyWindow < 0 {
		problem("Options.StickyWindow is %v: it must be positive, or 0 for %v", o.StickyWindow, defaultStickyWindow)
	}
	if o.Lifetime < o.StickyWindow || o.Lifetime > session.MaxTokenLifetime {
		problem("Options.Lifetime is %v: it must lie between StickyWindow, %v, and session.MaxTokenLifetime, %v", o.Lifetime, o.StickyWindow, session.MaxTokenLifetime)
	}
	return o, errors.Join(problems...)
}
