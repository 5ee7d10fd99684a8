package readsplit

import (
	"context"
	"fmt"

	"github.com/readsplit/readsplit/failover"
	"github.com/readsplit/readsplit/monitor"
)

// tell logs an election.
func (f *follower) tell(before, now failover.Outcome, err error, broken int) {
	logger, ctx := f.of.plugin.db.Logger, context.Background()
	warn := func(format string, args ...any) { logger.Warn(ctx, "readsplit: "+f.prefix()+format, args...) }
	name := func(i int) string { return f.hosts[i].Name }
	moved := now.Leader != before.Leader || !sameRun(now.Server, before.Server)
	switch {
	case err != nil && (before.State != now.State || len(before.Rivals) != len(now.Rivals)):
		logger.Error(ctx, "readsplit: %swrites are refused; %d connections were broken off: %v", f.prefix(), broken, err)
	case now.State == failover.Elected && moved && before.Leader < 0:
		logger.Info(ctx, "readsplit: %sthe primary is %q, on timeline %d", f.prefix(), name(now.Leader), now.Timeline)
	case now.State == failover.Elected && moved && now.Leader == before.Leader:
		warn("another run of a server answers as primary at %q, on timeline %d; %d connections to the one before were broken off", name(now.Leader), now.Timeline, broken)
	case now.State == failover.Elected && moved:
		warn("the primary has moved from %q (timeline %d) to %q (timeline %d); %d connections to the old one were broken off", name(before.Leader), before.Timeline, name(now.Leader), now.Timeline, broken)
	case now.State == failover.Elected && before.State != failover.Elected && before.State != failover.Unknown:
		warn("the primary is %q again, on timeline %d", name(now.Leader), now.Timeline)
	case now.State == failover.Lost && before.State != failover.Lost:
		warn("the primary, %q, does not answer, and no other host took over", name(now.Leader))
	}
	for _, i := range now.Refused {
		if f.once(fmt.Sprint("old ", i, now.Highest)) {
			warn("%q is an old primary: it writes a lower timeline than %d; nothing is sent there; stop it, or make it a standby", name(i), now.Highest)
		}
	}
	for _, i := range now.Foreign {
		if f.once(fmt.Sprint("foreign ", i)) {
			logger.Error(ctx, "readsplit: %s%q belongs to another database cluster than the primary: it is never followed; is its address right?", f.prefix(), name(i))
		}
	}
}

// once reports whether something is about to be said for the first time: a host
// that comes and goes must not fill the log.
func (f *follower) once(what string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	said := f.said[what]
	f.said[what] = true
	return !said
}

// prefix names the resolver whose primary it is.
func (f *follower) prefix() string {
	if f.of.name == "" {
		return ""
	}
	return f.of.name + ": "
}

// quietly takes in a change of a replica's role where the primary is followed. It
// reports whether nothing is to be said of it: a replica that was promoted is the
// primary now, as it should be, or the election tells of it.
func (rt *router) quietly(c monitor.Change) bool {
	if rt.follow == nil || c.Replica < 0 {
		return false
	}
	switch c.State {
	case monitor.StateWritable:
		rt.follow.promoted(placed{rt, c.Replica}, false)
		rt.follow.watch.Poke()
		return true
	case monitor.StateProven, monitor.StateRestarted:
		rt.follow.promoted(placed{rt, c.Replica}, true)
	}
	return false
}

// beforeSample is called before each regular question to the primary.
func (rt *router) beforeSample() {
	rt.sweepClosed()
	if rt.follow == nil {
		return
	}
	for _, i := range rt.strays() {
		rt.log(monitor.Change{Server: rt.replicas()[i].name, Replica: i, State: monitor.StateWritable})
	}
}
