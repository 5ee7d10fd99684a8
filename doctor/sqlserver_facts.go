package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// sqlFacts are what is known of one SQL Server: its connection string, and what it
// answered.
type sqlFacts struct {
	name    string
	primary bool // declared as one
	dsn     string
	pairs   map[string]string
	timeout time.Duration
	db      *sql.DB
	conn    *sql.Conn

	dialed error // why there was no connection
	lost   string
	// without is who answers where nobody does with the intent; nil: nobody, or it was
	// not tried.
	without *sqlFacts
	refused []refusal

	about  sqlAbout
	run    lsn.SQLServerRun
	none   silence // why there is no position; zero: there is
	state  lsn.SQLServerState
	sample lsn.Sample
	detail sqlDetail
	routes sqlRoutes
	// names are the servers that answered at this name, in tries connections.
	names []string
	tries int
}

// silence is why a server tells no position, and what to do about it.
type silence struct{ why, remedy string }

// sqlAbout is what any login may ask.
type sqlAbout struct {
	version, edition string
	engine           int // SERVERPROPERTY('EngineEdition')
}

// sqlDetail is what the server says of its own copy, for people.
type sqlDetail struct{ database, sync, suspended string }

// sqlRoutes is the read-only routing of the group, as the server knows it.
type sqlRoutes struct {
	known bool
	lists int               // of servers that route somewhere while this one is the primary
	urls  map[string]string // READ_ONLY_ROUTING_URL, by server
	modes map[string]string // ALLOW_CONNECTIONS as a secondary, by server
}

const sqlAboutSQL = `SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')), CONVERT(nvarchar(128), SERVERPROPERTY('Edition')),
 CONVERT(int, SERVERPROPERTY('EngineEdition'))`

const sqlDetailSQL = `SELECT ISNULL(r.database_state_desc, ''), ISNULL(r.synchronization_state_desc, ''), ISNULL(r.suspend_reason_desc, '')
FROM sys.dm_hadr_database_replica_states AS r WHERE r.database_id = DB_ID() AND r.is_local = 1`

// Without VIEW ANY DEFINITION these have no rows.
const (
	sqlReplicasSQL = `SELECT replica_server_name, ISNULL(read_only_routing_url, ''), ISNULL(secondary_role_allow_connections_desc, '') FROM sys.availability_replicas`
	sqlRoutingSQL  = `SELECT COUNT(*) FROM sys.availability_read_only_routing_lists AS l
 JOIN sys.availability_replicas AS p ON p.replica_id = l.replica_id WHERE p.replica_server_name = CONVERT(nvarchar(128), SERVERPROPERTY('ServerName'))`
)

// answered reports whether the server could be asked who it is.
func (f *sqlFacts) answered() bool { return f.dialed == nil && f.run.Server != "" }

func (f *sqlFacts) readOnlyIntent() bool { return f.pairs["applicationintent"] == "ReadOnly" }

func (f *sqlFacts) secrets() []string {
	return []string{f.pairs["password"], f.pairs["pwd"], urlPassword(f.dsn)}
}

// gather connects and asks everything that is asked once.
func (f *sqlFacts) gather(ctx context.Context, looks int) {
	f.meet(ctx)
	if f.dialed != nil {
		if f.readOnlyIntent() && !f.primary && errors.Is(f.dialed, errNoAnswer) {
			// Who is it that sends these connections on?
			f.without = &sqlFacts{name: f.name, dsn: withKey(f.dsn, "applicationintent", "ReadWrite"), pairs: f.pairs, timeout: f.timeout}
			f.without.meet(ctx)
		}
		return
	}
	f.names, f.tries = []string{f.run.Server}, 1
	for range looks - 1 {
		server, err := f.again(ctx)
		if err != nil {
			break // no room for more, or gone, which the watch will show
		}
		f.tries++
		if !slices.Contains(f.names, server) {
			f.names = append(f.names, server)
		}
	}
}

// meet connects, and asks who answers.
func (f *sqlFacts) meet(ctx context.Context) {
	if f.db, f.dialed = openSQLServer(f.dsn, f.timeout); f.dialed != nil {
		return
	}
	if f.conn, f.dialed = f.dial(ctx); f.dialed != nil {
		return
	}
	text, err := f.text(ctx, lsn.SQLServerRunSQL)
	if err == nil {
		f.run, err = lsn.ParseSQLServerRun(text)
	}
	if err != nil {
		f.dialed = err
		return
	}
	if err := f.row(ctx, sqlAboutSQL, &f.about.version, &f.about.edition, &f.about.engine); err != nil {
		f.refuse("its version", err)
	}
	f.askState(ctx)
	f.askRoutes(ctx)
}

// askState asks what the plugin asks of the availability group.
func (f *sqlFacts) askState(ctx context.Context) {
	text, err := f.text(ctx, lsn.SQLServerStateSQL)
	if err == nil {
		f.state, err = lsn.ParseSQLServerState(text)
	}
	var other error
	if f.none, other = silent(err); other != nil {
		f.refused = append(f.refused, refusal{"its position", "", f.clean(other), true})
		f.none = silence{why: "the question failed"}
	}
	if f.none.why != "" {
		return
	}
	f.sample = lsn.SQLServerSample(f.run, f.state)
	if f.state.Primary && f.sample.Timeline == 0 {
		f.none = silence{"it does not know its own name in the availability group", "Look at primary_replica of sys.dm_hadr_availability_group_states there: it comes from the cluster manager."}
	}
	if err := f.row(ctx, sqlDetailSQL, &f.detail.database, &f.detail.sync, &f.detail.suspended); err != nil {
		f.refuse("the state of its copy", err)
	}
}

func (f *sqlFacts) askRoutes(ctx context.Context) {
	if f.none.why != "" {
		return
	}
	r := sqlRoutes{urls: map[string]string{}, modes: map[string]string{}}
	err := f.rows(ctx, sqlReplicasSQL, func(rows *sql.Rows) error {
		var server, url, mode string
		if err := rows.Scan(&server, &url, &mode); err != nil {
			return err
		}
		r.urls[server], r.modes[server] = url, mode
		return nil
	})
	if err == nil && len(r.urls) > 0 {
		if err = f.row(ctx, sqlRoutingSQL, &r.lists); err == nil {
			r.known = true
		}
	}
	if err != nil {
		f.refuse("read-only routing", err)
		return
	}
	f.routes = r
}

// grantView lets positions be seen.
const grantView = "On the primary and on each replica, since logins and their rights are each server's own: GRANT VIEW SERVER STATE TO the login; from SQL Server 2022 on VIEW SERVER PERFORMANCE STATE is enough. Or set Config.SQLServer.Marker."

// silent tells an error that says that there are no positions from others.
func silent(err error) (none silence, other error) {
	switch number := sqlNumber(err); {
	case err == nil:
		return silence{}, nil
	case errors.Is(err, sql.ErrNoRows):
		return silence{"the database is in no availability group", "ALTER AVAILABILITY GROUP .. ADD DATABASE .., on the primary; or is it the wrong server, or the wrong database?"}, nil
	case errors.Is(err, lsn.ErrSQLServerRange):
		return silence{"its log sequence numbers are beyond what can be compared", "Set Config.SQLServer.Marker."}, nil
	case errors.Is(err, lsn.ErrSQLServerNoCommit):
		return silence{"the view has no last_commit_lsn", "Ask again when something was written; if that stays so, set Config.SQLServer.Marker."}, nil
	case number == 229 || number == 297 || number == 300 || number == 371:
		return silence{fmt.Sprintf("the login may not see them (error %d)", number), grantView}, nil
	case number == 208 || number == 40515:
		return silence{"this edition has no views of availability groups, as Azure SQL Database", "Set Config.SQLServer.Marker, or Replica.StatedLag."}, nil
	}
	return silence{}, err
}

func (f *sqlFacts) refuse(what string, err error) {
	f.refused = append(f.refused, refusal{what: what, why: f.clean(err)})
}
