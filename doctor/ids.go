package doctor

// Reaching the servers.
const (
	DSNInvalid         ID = "dsn-invalid"
	KindsDiffer        ID = "kinds-differ"
	DatabaseNotNamed   ID = "database-not-named"
	DatabasesDiffer    ID = "databases-differ"
	SeveralHosts       ID = "several-hosts"
	TLSOptional        ID = "tls-optional"
	ApplicationName    ID = "application-name-missing"
	Unreachable        ID = "unreachable"
	LoginRefused       ID = "login-refused"
	ConnectionsUsedUp  ID = "connections-used-up"
	SeveralServers     ID = "several-servers"
	PoolerTransaction  ID = "pooler-transaction-mode"
	PoolerSession      ID = "pooler-session-mode"
	ClockSkew          ID = "clock-skew"
	QuestionRefused    ID = "question-refused"
	MonitorRoleMissing ID = "monitor-role-missing"
)

// Who is who.
const (
	TopologySound     ID = "topology-sound"
	ReplicaIsPrimary  ID = "replica-is-primary"
	PrimaryInRecovery ID = "primary-in-recovery"
	TwoPrimaries      ID = "two-primaries"
	SameServer        ID = "same-server"
	ForeignSystem     ID = "foreign-system"
	TimelineDiffers   ID = "timeline-differs"
	TimelineUnproven  ID = "timeline-unproven"
	ReplicaAhead      ID = "replica-ahead"
	VersionOld        ID = "version-unsupported"
	VersionUntested   ID = "version-untested"
	VersionsDiffer    ID = "versions-differ"
	MinorsDiffer      ID = "minor-versions-differ"
)

// Replication and replay.
const (
	ReplicaCurrent    ID = "replica-current"
	ReplicaBehind     ID = "replica-behind"
	CutOff            ID = "cut-off"
	FedFromArchive    ID = "fed-from-archive"
	Cascading         ID = "cascading"
	ReplayPaused      ID = "replay-paused"
	ApplyDelay        ID = "apply-delay"
	StandbyDelay      ID = "standby-delay"
	FeedbackOff       ID = "feedback-off"
	Conflicts         ID = "conflicts"
	LongTransaction   ID = "long-transaction"
	StandbySettings   ID = "standby-settings-lower"
	WALLevel          ID = "wal-level-minimal"
	WALSenders        ID = "wal-senders-used-up"
	WALNotKept        ID = "wal-not-kept"
	SlotInactive      ID = "slot-inactive"
	ArchiveFailing    ID = "archive-failing"
	AsyncCommit       ID = "async-commit"
	SyncStandbyAbsent ID = "sync-standby-missing"
	RemoteApply       ID = "remote-apply"
)

// Connections and what a session starts with.
const (
	ConnectionsFit      ID = "connections-fit"
	ConnectionsExceeded ID = "connections-exceeded"
	ConnectionsBusy     ID = "connections-busy"
	ReadOnlyDefault     ID = "read-only-default"
	SerializableDefault ID = "serializable-default"
	SessionTimeouts     ID = "session-timeouts"
	IdleSessionTimeout  ID = "idle-session-timeout"
)

// SQL Server.
const (
	IntentMisspelt  ID = "intent-misspelt"
	IntentMissing   ID = "intent-missing"
	IntentOnPrimary ID = "intent-on-primary"
	ServersNotAsked ID = "servers-not-asked"

	RoutingLoop          ID = "routing-loop"
	NotRouted            ID = "not-routed"
	SecondaryNotReadable ID = "secondary-not-readable"
	PositionsMissing     ID = "positions-missing"
	DelayedDurability    ID = "delayed-durability"
	DataSuspended        ID = "data-movement-suspended"
	NotSynchronizing     ID = "not-synchronizing"
)

// A running application.
const (
	AppUnreachable    ID = "app-unreachable"
	AppServer         ID = "app-server"
	AppNoReads        ID = "app-no-reads"
	AppShare          ID = "app-share"
	AppShareLow       ID = "app-share-low"
	AppProcessSession ID = "app-process-session"
	AppTraffic        ID = "app-traffic-set"
	AppRetries        ID = "app-retries"
	AppConflicts      ID = "app-conflicts"
	AppUnsureWrites   ID = "app-unsure-writes"
	AppTokens         ID = "app-tokens-refused"
	AppPoolWaits      ID = "app-pool-waits"
	AppBudget         ID = "app-budget"
	AppConnections    ID = "app-connections"
)
