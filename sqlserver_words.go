package readsplit

import (
	"fmt"

	"github.com/readsplit/readsplit/monitor"
)

// saidOfSQLServer is what is logged of a change on SQL Server, where the words for
// PostgreSQL would send somebody to functions that are not there; empty: those words do.
func saidOfSQLServer(c monitor.Change) string {
	switch c.State {
	case monitor.StateWritable:
		return fmt.Sprintf("readsplit: replica %q takes writes: it is a PRIMARY, or in no availability group, and no read goes there; has it failed over, is the address right, does the listener route? DATABASEPROPERTYEX(DB_NAME(), 'Updateability') must be READ_ONLY there; set Replica.AllowPrimaryAsReplica if it is the primary on purpose", c.Server)
	case monitor.StateStandby:
		return fmt.Sprintf("readsplit: %s is a secondary: is its address right, and does its DSN leave out ApplicationIntent=ReadOnly? Name the listener of the availability group, which follows the primary", c.Server)
	case monitor.StatePaused:
		return fmt.Sprintf("readsplit: replica %q: its data movement is suspended, and what it shows grows older: ALTER DATABASE .. SET HADR RESUME there when that is over", c.Server)
	case monitor.StateReplays:
		return fmt.Sprintf("readsplit: replica %q: its data movement goes on", c.Server)
	case monitor.StateCutOff:
		return fmt.Sprintf("readsplit: replica %q receives nothing, or redoes nothing, although the primary has more: look at sys.dm_hadr_database_replica_states on both", c.Server)
	case monitor.StateNoPosition:
		switch {
		case c.Replica < 0:
			return fmt.Sprintf("readsplit: %s tells no position: after a write, only time says when replicas show it (Config.StickyWindow, Replica.StatedLag)", c.Server)
		case c.Err != nil:
			return fmt.Sprintf("readsplit: replica %q tells no position (Status says why), and is used for AnyReplica and Stale alone: let its login see positions (GRANT VIEW SERVER STATE, from SQL Server 2022 on VIEW SERVER PERFORMANCE STATE) or the table of Config.SQLServer.Marker, or set Replica.StatedLag", c.Server)
		}
		return fmt.Sprintf("readsplit: replica %q tells no position: how old it is rests on Replica.StatedLag, and for Config.StickyWindow after a write its session reads from the primary", c.Server)
	}
	return ""
}
