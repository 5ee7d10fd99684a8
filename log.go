package readsplit

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/monitor"
)

// logTo logs changes of state to GORM's own logger, where the application looks.
func logTo(db *gorm.DB) func(monitor.Change) {
	sqlServer := db.Dialector.Name() == "sqlserver" // Use replaces the dialector while servers are watched already
	return func(c monitor.Change) {
		ctx := context.Background()
		if sqlServer {
			if text := saidOfSQLServer(c); text != "" {
				db.Logger.Warn(ctx, "%s", text)
				return
			}
		}
		switch c.State {
		case monitor.StateWritable:
			if c.Err != nil {
				db.Logger.Warn(ctx, "readsplit: behind replica %q there is a PRIMARY, and no read goes there: %v; set Replica.AllowPrimaryAsReplica if that is meant", c.Server, c.Err)
				return
			}
			db.Logger.Warn(ctx, "readsplit: replica %q is not in recovery: it is a PRIMARY, and no read goes there; was it promoted, or is the address wrong? Set Replica.AllowPrimaryAsReplica if that is meant", c.Server)
		case monitor.StateNotLogical:
			db.Logger.Warn(ctx, "readsplit: replica %q is declared Logical (fed by logical replication), but it is of the primary's own database cluster: no read goes there; is its address right? Leave Replica.Logical out for a physical replica", c.Server)
		case monitor.StateForeign:
			if c.Err != nil {
				db.Logger.Warn(ctx, "readsplit: behind replica %q there is a server that follows ANOTHER HISTORY than the primary, and no read goes there: %v; is it of another cluster, or left over from a failover?", c.Server, c.Err)
				return
			}
			db.Logger.Warn(ctx, "readsplit: replica %q follows another history than the primary: no read goes there until it is proven to follow the primary again", c.Server)
		case monitor.StateBalanced:
			db.Logger.Warn(ctx, "readsplit: replica %q answers as several servers: what one connection says is not true of the next, so each read that asks for anything finds out on its own connection what it is shown, which costs a round trip now and then, and two more for each read behind a pooler; give each server a name of its own in Config.Replicas if you can, or set Replica.Balanced to say that it is meant", c.Server)
		case monitor.StateNoPosition:
			switch {
			case c.Replica < 0:
				db.Logger.Warn(ctx, "readsplit: %s does not tell its position: after a write, only time says when replicas show it (Config.StickyWindow, Replica.StatedLag)", c.Server)
			case c.Err != nil:
				db.Logger.Warn(ctx, "readsplit: replica %q does not tell its replay position, and is used for AnyReplica and Stale alone: let its role ask for it (GRANT EXECUTE on pg_last_wal_replay_lsn() and its like), or set Replica.StatedLag", c.Server)
			default:
				db.Logger.Warn(ctx, "readsplit: replica %q does not tell its replay position: how old it is rests on Replica.StatedLag, and for Config.StickyWindow after a write its session reads from the primary", c.Server)
			}
		case monitor.StateStandby:
			db.Logger.Error(ctx, "readsplit: %s is in recovery: it is a standby; is its address right (gorm.Open, Config.Primary, Resolver.Primary, dbresolver's Sources)?", c.Server)
		case monitor.StateDown:
			if c.Replica < 0 {
				db.Logger.Warn(ctx, "readsplit: %s is down: %v", c.Server, c.Err)
				return
			}
			db.Logger.Warn(ctx, "readsplit: %s is down, and no read goes there until it answers: look at the server and its log: %v", c.Server, c.Err)
		case monitor.StateNewHistory:
			db.Logger.Warn(ctx, "readsplit: %s restarted or changed: earlier positions of sessions cannot be compared any more, and they read from it for a while", c.Server)
		case monitor.StateEjected:
			db.Logger.Warn(ctx, "readsplit: replica %q answers its probes, but reads fail there one after the other: it is left alone for a while; the last error was: %v", c.Server, c.Err)
		case monitor.StatePaused:
			db.Logger.Warn(ctx, "readsplit: replica %q: an administrator has paused replay, and what it shows grows older: SELECT pg_wal_replay_resume() there when that is over", c.Server)
		case monitor.StateCutOff:
			db.Logger.Warn(ctx, "readsplit: replica %q receives nothing, although the primary has more: look at the network between them, and in its log at the connection of its WAL receiver", c.Server)
		case monitor.StateLagging:
			db.Logger.Warn(ctx, "readsplit: replica %q is staler than MaxLag, or may be, and only reads that allow more go there: look at its replay (load, a pause, a long query there) and at the network", c.Server)
		case monitor.StateReplays:
			db.Logger.Warn(ctx, "readsplit: replica %q replays again", c.Server)
		case monitor.StateReceives:
			db.Logger.Warn(ctx, "readsplit: replica %q receives from the primary again", c.Server)
		case monitor.StateWithinLag:
			db.Logger.Warn(ctx, "readsplit: replica %q is within MaxLag again", c.Server)
		case monitor.StateReadmitted, monitor.StateDrained, monitor.StateResumed, monitor.StateRemoved:
			// What operators wait for, and what they have done.
			db.Logger.Warn(ctx, "readsplit: replica %q was %s", c.Server, c.State)
		case monitor.StateUp:
			// As loud as going down: at GORM's usual level the end of an incident
			// would not show.
			db.Logger.Warn(ctx, "readsplit: %s is up", c.Server)
		default:
			db.Logger.Info(ctx, "readsplit: %s is %s", c.Server, c.State)
		}
	}
}

// onChange is told by the monitor, one change at a time for each server.
func (rt *router) onChange(c monitor.Change) {
	if c.Replica >= 0 && c.Err == nil && (c.State == monitor.StateRestarted || c.State == monitor.StateRegressed || c.State == monitor.StateWritable) {
		rt.replicas()[c.Replica].closeIdle() // they lead to a run that has ended, or to what is no replica any more
	}
	rt.tellChange(c)
	if rt.log == nil {
		return
	}
	if rt.quietly(c) {
		return
	}
	if rt.saidByDiscovery(c) {
		return
	}
	if c.Server == primaryName && rt.name != "" {
		if !rt.owns() {
			return // the plugin's own primary, of which the main router tells
		}
		c.Server = rt.name + "/" + primaryName
	}
	switch c.State {
	case monitor.StateDown:
		rt.wasDown.Store(c.Server, true)
	case monitor.StateUp:
		if _, back := rt.wasDown.Load(c.Server); !back {
			// Nothing happened: it is there.
			rt.info("readsplit: %s is up", c.Server)
			return
		}
	}
	rt.log(c)
}

func (rt *router) info(format string, args ...any) {
	rt.plugin.db.Logger.Info(context.Background(), format, args...)
}
