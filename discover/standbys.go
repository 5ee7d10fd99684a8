package discover

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// ErrRight says that the role may not see who streams from the primary.
var ErrRight = errors.New("readsplit: the role of the primary's connections may not see pg_stat_replication: GRANT pg_monitor TO it, on the primary")

// errStandby says that whom the source has asked is no primary.
var errStandby = errors.New("readsplit: the server that was asked for its standbys is a standby itself: it sees those that it feeds, and no others")

var errNobody = errors.New("readsplit: discover.Standbys has no primary to ask: set StandbyOptions.Primary, or use the source in readsplit's Config.Discover")

// Standby is what the primary says of a standby that streams from it.
type Standby struct {
	ApplicationName string // as in the standby's primary_conninfo; "walreceiver" or its cluster_name without
	Address         string // that the primary sees; empty: a Unix socket
	Hostname        string // of the address, where log_hostname is on
	Slot            string // that it uses, empty: none
}

// StandbyOptions say how standbys become servers.
type StandbyOptions struct {
	// Port is where all of them listen, which the primary does not know. Defaults to
	// the template's.
	Port int
	// Locate says where a standby can be reached, and whether it is one for reads. A
	// standby may stream through another address than it serves on (NAT, a pooler, two
	// networks), and application_name often is the name that the administrator gave it.
	// The default takes the address, and leaves out who has none.
	Locate func(Standby) (s Server, use bool)
	// Primary is asked. Defaults to the primary of the plugin, which follows a failover.
	Primary Queryer
}

// Standbys is a source of the standbys that the primary streams to, from
// pg_stat_replication: a role without pg_monitor (or pg_read_all_stats) sees nothing
// there, which is [ErrRight]. A cascaded standby is not seen: its upstream feeds it.
// Name it in Config.Replicas, or [Join] a source that knows it. Logical subscribers and
// pg_receivewal are left out. A standby that is disconnected stays as long as the slot
// that it used exists on the primary; without a slot [Config.Grace] is all that it has.
func Standbys(o StandbyOptions) Source {
	if o.Locate == nil {
		o.Locate = func(s Standby) (Server, bool) { return Server{Host: s.Address}, s.Address != "" }
	}
	return standbys{StandbyOptions: o, seen: &slots{}}
}

type standbys struct {
	StandbyOptions
	seen *slots
}

// slots are which server uses which slot: one that restarts is not gone.
type slots struct {
	mu sync.Mutex
	of map[string]Server
}

func (s standbys) String() string { return "pg_stat_replication" }

// On implements [OnPrimary].
func (s standbys) On(primary Queryer) Source {
	if s.Primary == nil {
		s.Primary = primary
	}
	return s
}

// standbysSQL returns the standbys, and the physical slots that nobody uses. replay_lsn
// is NULL for pg_receivewal, and state where the role has no right to see it.
const standbysSQL = `SELECT pg_is_in_recovery(), r.state IS NULL, coalesce(r.application_name, ''), coalesce(host(r.client_addr), ''),
 coalesce(r.client_hostname, ''), coalesce(s.slot_name, ''), true
 FROM pg_stat_replication r LEFT JOIN pg_replication_slots s ON s.active_pid = r.pid
 WHERE coalesce(s.slot_type, 'physical') = 'physical'
 AND (r.state IS NULL OR r.state IN ('streaming', 'catchup') AND r.replay_lsn IS NOT NULL)
UNION ALL SELECT pg_is_in_recovery(), false, '', '', '', slot_name, false
 FROM pg_replication_slots WHERE slot_type = 'physical' AND NOT active
UNION ALL SELECT pg_is_in_recovery(), false, '', '', '', '', false`

// Lookup implements [Source].
func (s standbys) Lookup(ctx context.Context) (found []Server, err error) {
	if s.Primary == nil {
		return nil, errNobody
	}
	rows, err := s.Primary.QueryContext(ctx, standbysSQL)
	if err != nil {
		return nil, fmt.Errorf("readsplit: ask the primary for its standbys: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	used := make(map[string]Server)
	for rows.Next() {
		var standby, hidden, streams bool
		var is Standby
		if err := rows.Scan(&standby, &hidden, &is.ApplicationName, &is.Address, &is.Hostname, &is.Slot, &streams); err != nil {
			return nil, fmt.Errorf("readsplit: ask the primary for its standbys: %w", err)
		}
		switch {
		case standby:
			return nil, errStandby
		case hidden:
			return nil, ErrRight
		case !streams:
			if was, known := s.seen.of[is.Slot]; known && is.Slot != "" {
				used[is.Slot] = was
				found = append(found, was)
			}
			continue
		}
		server, use := s.Locate(is)
		if !use {
			continue
		}
		if server.Port == 0 {
			server.Port = s.Port
		}
		if is.Slot != "" {
			used[is.Slot] = server
		}
		found = append(found, server)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("readsplit: ask the primary for its standbys: %w", err)
	}
	s.seen.of = used
	return found, nil
}

var _ Queryer = (*sql.DB)(nil)
