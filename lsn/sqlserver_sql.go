package lsn

// SQLServerRunSQL asks a SQL Server what every login may ask: which run of which
// server answers, whether the database takes writes here, whether commits may be
// acknowledged before they are hardened, and what time it is there. tempdb is made
// when a server starts, and its row is shown to everybody. [ParseSQLServerRun] reads
// the answer.
const SQLServerRunSQL = `SELECT CONCAT('i1 ', CONVERT(varchar(20), DATABASEPROPERTYEX(DB_NAME(), 'Updateability')), ' ',
 (SELECT CONVERT(varchar(30), create_date, 126) FROM sys.databases WHERE name = 'tempdb'), ' ',
 (SELECT delayed_durability FROM sys.databases WHERE name = DB_NAME()), ' ',
 CONVERT(varchar(30), SYSUTCDATETIME(), 126), ' ',
 CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')), '/', DB_NAME())`

// SQLServerStateSQL asks a replica of an availability group about the database of the
// connection: one row, or none where it is in no availability group. It needs VIEW
// SERVER STATE, from SQL Server 2022 on VIEW SERVER PERFORMANCE STATE; without it,
// it is error 300 or 297. [ParseSQLServerState] reads its answer.
//
// Of what the view has, last_commit_lsn alone says what a reader sees. The other
// columns that seem to are no proof: secondary_lag_seconds is about hardening and 0
// while data movement is suspended, last_hardened_lsn is what was received, the queues
// are 0 on a replica that is cut off.
const SQLServerStateSQL = `SELECT CONCAT('h1 ', CONVERT(varchar(36), r.group_database_id), ' ', r.is_primary_replica, ' ',
 r.is_suspended, ' ', r.database_state, ' ', r.synchronization_state, ' ',
 ISNULL(CONVERT(varchar(30), r.last_commit_lsn), '-'), ' ', ISNULL(CONVERT(varchar(30), r.end_of_log_lsn), '-'), ' ',
 ISNULL(CONVERT(varchar(30), r.recovery_lsn), '-'), ' ',
 ISNULL((SELECT g.primary_replica FROM sys.dm_hadr_availability_group_states AS g WHERE g.group_id = r.group_id), '-'))
FROM sys.dm_hadr_database_replica_states AS r WHERE r.database_id = DB_ID() AND r.is_local = 1`
