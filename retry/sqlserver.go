package retry

// sqlServerRead judges a read on a readable secondary by its SQL Server error number.
func sqlServerRead(number int32) Verdict {
	if v, ok := sqlServerReadNumbers[number]; ok {
		return v
	}
	switch {
	case number >= 3950 && number <= 3969:
		// Row versions that a snapshot needs are gone or not there: another server has its own. 3960, an update
		// conflict, is of a write and has its own line.
		return elsewhere(CauseRecoveryConflict)
	}
	return surface(CauseStatement)
}

var sqlServerReadNumbers = map[int32]Verdict{
	3906: asWrite(CauseReadOnlyRefusal), // database is read-only

	// The database of this replica cannot be read now.
	921:   suspect(CauseStarting), // not recovered yet
	922:   suspect(CauseStarting), // being recovered
	926:   suspect(CauseStarting), // marked suspect
	927:   suspect(CauseStarting), // being restored
	945:   suspect(CauseStarting), // files not accessible
	952:   suspect(CauseStarting), // in transition
	976:   suspect(CauseStarting), // data movement suspended, or the replica is not open for reads
	979:   suspect(CauseStarting),
	982:   suspect(CauseStarting), // no secondary is open for read-only connections
	983:   suspect(CauseStarting), // the replica is in no role in which it can be read
	988:   suspect(CauseStarting), // quorum lost
	4221:  suspect(CauseStarting), // login waits for versions of open transactions
	17142: suspect(CauseStarting), // service paused
	17187: suspect(CauseStarting), // not ready for connections
	18401: suspect(CauseStarting), // script upgrade
	40197: suspect(CauseStarting), // Azure: reconfiguration
	40613: suspect(CauseStarting), // Azure: database not available

	596:   suspect(CauseTerminated), // the session is being killed
	6005:  suspect(CauseTerminated), // SHUTDOWN
	6006:  suspect(CauseTerminated),
	17188: suspect(CauseTerminated), // shutting down, no new connections

	1219: elsewhere(CauseRecoveryConflict), // disconnected for a DDL of higher priority
	3947: elsewhere(CauseRecoveryConflict), // the transaction's redo is blocked by the read
	3948: elsewhere(CauseRecoveryConflict), // the replica changed its role or settings
	3960: surface(CauseStatement),          // update conflict: not a read

	1205: elsewhere(CauseLockTimeout), // deadlock victim
	1222: elsewhere(CauseLockTimeout),

	// The session is unusable, the server is not.
	3980: elsewhere(CauseConnection),
	3988: elsewhere(CauseConnection),
	3989: elsewhere(CauseConnection),

	17300: elsewhere(CauseTooManyConnections),
	17809: elsewhere(CauseTooManyConnections),
	10928: elsewhere(CauseResources), // Azure: workers or sessions
	10929: elsewhere(CauseResources),
	40501: elsewhere(CauseResources), // Azure: busy
	701:   elsewhere(CauseResources), // memory
	802:   elsewhere(CauseResources),
	1204:  elsewhere(CauseResources), // locks
	8645:  elsewhere(CauseResources), // memory grant

	823:  elsewhere(CauseStorage),
	824:  elsewhere(CauseStorage),
	9001: elsewhere(CauseStorage),

	207:  primary(CauseSchemaBehind), // column
	208:  primary(CauseSchemaBehind), // table, view
	195:  primary(CauseSchemaBehind), // function
	2715: primary(CauseSchemaBehind), // type
	2812: primary(CauseSchemaBehind), // procedure
	4121: primary(CauseSchemaBehind), // function or column

	// Refuses every statement of this pool: the read goes elsewhere, the cause says that someone must act.
	978:   elsewhere(CauseConfiguration), // ApplicationIntent is not ReadOnly
	916:   elsewhere(CauseConfiguration), // the login has no user in this database
	4060:  elsewhere(CauseConfiguration), // database cannot be opened
	18456: elsewhere(CauseConfiguration), // login failed

	// Refuses this statement: that a role may not read a table here is no reason to read it with another role.
	229: surface(CauseConfiguration),
	297: surface(CauseConfiguration),
	300: surface(CauseConfiguration),
}
