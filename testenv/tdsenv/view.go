package tdsenv

import (
	"strings"
	"time"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/engine"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// host is a server as one session has it.
type host struct {
	*Server
	readOnly bool
}

var _ engine.Host = (*host)(nil)

func (h *host) ServerName() string { return h.name }

func (h *host) Database(name string) (engine.Database, error) {
	if strings.EqualFold(name, "master") {
		return h.master, nil
	}
	c := h.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	db := c.database(name)
	if db == nil {
		return nil, sqlval.Errorf(911, "Database '%s' does not exist. Make sure that the name is entered correctly.", name)
	}
	r := h.replica(db)
	if err := r.refusal(h.readOnly); err != nil {
		return nil, err
	}
	return &openDatabase{r, h.readOnly}, nil
}

func (h *host) Databases() []engine.Database {
	c := h.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []engine.Database{h.master}
	for _, db := range c.databases {
		list = append(list, &openDatabase{h.replica(db), h.readOnly})
	}
	return list
}

func (h *host) IsPrimary(name string) any {
	c := h.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cfg.NoGroup || c.database(name) == nil {
		return nil
	}
	return h.Server == c.primary
}

func (h *host) Property(name string) any {
	switch name {
	case "servername", "machinename", "computernamephysicalnetbios":
		return h.name
	case "productversion":
		return "16.0.1000.6"
	case "productmajorversion":
		return "16"
	case "productlevel":
		return "RTM"
	case "edition":
		return "Developer Edition (64-bit)"
	case "engineedition":
		return int64(h.cluster.cfg.EngineEdition)
	case "ishadrenabled":
		return !h.cluster.cfg.NoGroup
	case "collation":
		return "SQL_Latin1_General_CP1_CI_AS"
	}
	return nil
}

// View is a view of the group.
func (h *host) View(name string, _ engine.Database) (*engine.Rowset, error) {
	c := h.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.HasPrefix(name, "sys.dm_") && h.under(denied) {
		return nil, noPermission()
	}
	switch name {
	case "sys.dm_hadr_database_replica_states":
		return h.databaseStates(), nil
	case "sys.databases":
		return h.databasesView(), nil
	case "sys.dm_hadr_availability_group_states":
		return h.groupStates(), nil
	case "sys.dm_hadr_availability_replica_states":
		return h.replicaStates(), nil
	case "sys.availability_replicas":
		return h.replicasView(), nil
	case "sys.availability_groups":
		set := &engine.Rowset{Cols: []engine.Column{guid("group_id"), text("name")}}
		if !c.cfg.NoGroup {
			set.Rows = append(set.Rows, []any{c.group, groupName})
		}
		return set, nil
	case "sys.availability_databases_cluster":
		set := &engine.Rowset{Cols: []engine.Column{guid("group_id"), guid("group_database_id"), text("database_name")}}
		for _, db := range c.databases {
			if !c.cfg.NoGroup {
				set.Rows = append(set.Rows, []any{c.group, db.uid, db.name})
			}
		}
		return set, nil
	case "sys.availability_group_listeners":
		set := &engine.Rowset{Cols: []engine.Column{guid("group_id"), text("dns_name"), number("port")}}
		if c.listener != nil {
			set.Rows = append(set.Rows, []any{c.group, "127.0.0.1", int64(c.listener.Port())})
		}
		return set, nil
	case "sys.availability_read_only_routing_lists":
		return h.routingView(), nil
	}
	return nil, nil
}

const groupName = "readsplit"

// noPermission is what a server of 2019 and older answers; 2022 names VIEW SERVER PERFORMANCE
// STATE instead, under the same numbers.
func noPermission() *sqlval.Error {
	first := atLogin(300, "VIEW SERVER STATE permission was denied on object 'server', database 'master'.")
	first.Next = sqlval.Errorf(297, "The user does not have permission to perform this action.")
	return first
}

func guid(name string) engine.Column { return engine.Column{Name: name, Type: sqlval.GUIDType} }
func text(name string) engine.Column {
	return engine.Column{Name: name, Type: sqlval.NVarCharType(256), Nullable: true}
}
func number(name string) engine.Column {
	return engine.Column{Name: name, Type: sqlval.BigIntType, Nullable: true}
}
func flag(name string) engine.Column {
	return engine.Column{Name: name, Type: sqlval.BitType, Nullable: true}
}
func tiny(name string) engine.Column {
	return engine.Column{Name: name, Type: sqlval.TinyType, Nullable: true}
}
func position(name string) engine.Column {
	return engine.Column{Name: name, Type: sqlval.LSNType, Nullable: true}
}
func moment(name string) engine.Column {
	return engine.Column{Name: name, Type: sqlval.Type{Kind: sqlval.DateTime}, Nullable: true}
}

func (h *host) replicaStates() *engine.Rowset {
	set := &engine.Rowset{Cols: []engine.Column{guid("replica_id"), guid("group_id"), flag("is_local"), tiny("role"), text("role_desc"),
		tiny("connected_state"), text("connected_state_desc"), tiny("synchronization_health"), text("synchronization_health_desc")}}
	if h.cluster.cfg.NoGroup {
		return set
	}
	for _, s := range h.cluster.servers {
		if h.Server != h.cluster.primary && s != h.Server {
			continue
		}
		role, desc := int64(2), "SECONDARY"
		if s == h.cluster.primary {
			role, desc = 1, "PRIMARY"
		}
		state, connected := int64(1), "CONNECTED"
		if s.down || s.under(cut) {
			state, connected = 0, "DISCONNECTED"
		}
		health, healthy := int64(2), "HEALTHY"
		if state == 0 {
			health, healthy = 0, "NOT_HEALTHY"
		}
		set.Rows = append(set.Rows, []any{s.id, h.cluster.group, s == h.Server, role, desc, state, connected, health, healthy})
	}
	return set
}

func (h *host) replicasView() *engine.Rowset {
	set := &engine.Rowset{Cols: []engine.Column{guid("replica_id"), guid("group_id"), text("replica_server_name"), tiny("availability_mode"),
		text("availability_mode_desc"), tiny("secondary_role_allow_connections"), text("secondary_role_allow_connections_desc"), text("read_only_routing_url")}}
	if h.cluster.cfg.NoGroup {
		return set
	}
	for _, s := range h.cluster.servers {
		access := s.access()
		code := map[Access]int64{AllowNone: 0, AllowReadOnly: 1, AllowAll: 2}[access]
		var url any
		if u := s.routingURL(); u != "" {
			url = u
		}
		set.Rows = append(set.Rows, []any{s.id, h.cluster.group, s.name, int64(1), "SYNCHRONOUS_COMMIT", code, access.String(), url})
	}
	return set
}

func (h *host) routingView() *engine.Rowset {
	set := &engine.Rowset{Cols: []engine.Column{guid("replica_id"), number("routing_priority"), guid("read_only_replica_id")}}
	if h.cluster.cfg.NoGroup {
		return set
	}
	for _, s := range h.cluster.servers {
		for i, group := range s.routingGroups() {
			for _, name := range group {
				set.Rows = append(set.Rows, []any{s.id, int64(i + 1), h.cluster.server(name).id})
			}
		}
	}
	return set
}

// replicaRow is a row of sys.dm_hadr_database_replica_states without what depends on who asks.
type replicaRow struct {
	of        *Server
	local     bool
	primary   bool
	sync      int64
	suspended bool
	hardened  *entry
	redone    *entry
	committed *entry
	lag       int64
	queue     int64 // commits that are hardened and not redone
	at        time.Time
}

// replicaRows is what the server knows of the replicas of a database. The cluster is locked.
func (s *Server) replicaRows(db *database) []replicaRow {
	c := s.cluster
	var rows []replicaRow
	for _, o := range c.servers {
		if o == s || s == c.primary {
			rows = append(rows, s.replicaRow(o.replica(db), o == s))
		}
	}
	return rows
}

func (s *Server) replicaRow(r *replica, local bool) replicaRow {
	c := s.cluster
	row := replicaRow{of: r.server, local: local, primary: r.server == c.primary, suspended: r.isSuspended(), at: time.Now()}
	hardened, redone := len(r.log), r.redone
	if !local { // the primary knows what it was told
		hardened, redone = min(r.reported.hardened, len(r.log)), min(r.reported.redone, len(r.log))
	}
	row.hardened, row.redone, row.committed = endOf(r.log, hardened), endOf(r.log, redone), endOf(r.log, redone)
	row.queue = int64(hardened - redone)
	if row.primary {
		row.sync = 2
		return row
	}
	if r.connected() && !row.suspended {
		row.sync = 1
		source := c.primary.replica(r.db).log
		if len(r.log) == len(source) {
			row.sync = 2
		}
	}
	// It measures hardening, not what readers see, and nothing while data movement is suspended.
	if source := c.primary.replica(r.db).log; !row.suspended && hardened < len(source) {
		row.lag = int64(time.Since(source[hardened].at) / time.Second)
	}
	return row
}

func (h *host) databaseStates() *engine.Rowset {
	set := &engine.Rowset{Cols: []engine.Column{
		{Name: "database_id", Type: sqlval.IntType}, guid("group_id"), guid("replica_id"), guid("group_database_id"), flag("is_local"), flag("is_primary_replica"),
		tiny("synchronization_state"), text("synchronization_state_desc"), tiny("synchronization_health"), text("synchronization_health_desc"),
		tiny("database_state"), text("database_state_desc"), flag("is_suspended"), tiny("suspend_reason"), text("suspend_reason_desc"),
		position("last_sent_lsn"), position("last_received_lsn"), position("last_hardened_lsn"), moment("last_hardened_time"),
		position("last_redone_lsn"), moment("last_redone_time"), number("log_send_queue_size"), number("redo_queue_size"),
		position("end_of_log_lsn"), position("last_commit_lsn"), moment("last_commit_time"), number("secondary_lag_seconds"), position("recovery_lsn"),
	}}
	c := h.cluster
	if c.cfg.NoGroup {
		return set
	}
	for _, db := range c.databases {
		rows := h.heldView[db]
		if rows == nil {
			rows = h.replicaRows(db)
		}
		for _, r := range rows {
			set.Rows = append(set.Rows, c.stateRow(db, r))
		}
	}
	return set
}

func (c *Cluster) stateRow(db *database, r replicaRow) []any {
	sync := [...]string{"NOT SYNCHRONIZING", "SYNCHRONIZING", "SYNCHRONIZED"}[r.sync]
	health := [...]string{"NOT_HEALTHY", "PARTIALLY_HEALTHY", "HEALTHY"}[r.sync]
	hardened, utc := r.hardened.lsn.endOfBlock().dec(), r.hardened.at.UTC()
	row := []any{db.id, c.group, r.of.id, db.uid, r.local, r.primary, r.sync, sync, r.sync, health, nil, nil, r.suspended, nil, nil,
		nil, nil, hardened, utc, nil, nil, nil, nil, hardened, r.committed.lsn.dec(), r.committed.at.UTC(), nil}
	if r.local {
		row[10], row[11] = int64(0), "ONLINE"
	}
	if r.suspended {
		row[13], row[14] = int64(0), "SUSPEND_FROM_USER"
	}
	if !r.primary {
		row[15], row[16] = hardened, hardened
		row[19], row[20] = r.redone.lsn.dec(), r.redone.at.UTC()
		row[21], row[22] = int64(0), r.queue
		row[26] = r.lag
	}
	return append(row, c.recovery(db, r))
}
