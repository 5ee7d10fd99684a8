package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/readsplit/readsplit/overload"
)

// What the plugin keeps for itself on each server, beside the pools: one connection
// for its questions, and on the primary now and then one for the catalogue.
const ownOnReplica, ownOnPrimary = 1, 2

// judgeConnections compares what the pools may open with what a server takes.
func judgeConnections(v *view) []Finding {
	var findings []Finding
	for _, f := range v.asked() {
		s := f.sample
		if s.MaxConnections == 0 || f.through.pooler || len(f.through.servers) > 1 {
			continue // a pooler's own limits count
		}
		pool, own, field := v.Pool, ownOnReplica, "the pool (Config.Pool.MaxOpen)"
		if f == v.primary {
			pool, own, field = v.PrimaryPool, ownOnPrimary, "the primary's pool (SetMaxOpenConns)"
		}
		if pool > 0 {
			sum := overload.Connections{MaxConnections: s.MaxConnections, Reserved: s.Reserved, Instances: v.Instances, Own: own,
				Pools: []overload.PoolLimit{{Name: field, MaxOpen: pool}}}.WithSum()
			each := fmt.Sprintf("%s of %d + %d", plural(v.Instances, "process", "processes"), pool, own)
			if sum.Fits() {
				findings = append(findings, fine(ConnectionsFit, f.name, "%s may open %d connections, and it takes %d.", each, sum.Needed, sum.Available))
			} else {
				remedy := fmt.Sprintf("max_connections to at least %d, on replicas first, or fewer processes.", sum.Needed+s.Reserved)
				if fit := sum.Fitting(); fit != nil {
					remedy = fmt.Sprintf("Set %s to at most %d; or %s", field, fit[0], remedy)
				}
				findings = append(findings, found(ConnectionsExceeded, Problem, f.name, remedy,
					"%s may open %d connections, and it takes %d (max_connections %d less %d reserved).", each, sum.Needed, sum.Available, s.MaxConnections, s.Reserved))
			}
		}
		if available := s.MaxConnections - s.Reserved; f.connections*10 >= available*8 {
			findings = append(findings, found(ConnectionsBusy, Warning, f.name,
				"SELECT usename, application_name, state, count(*) FROM pg_stat_activity GROUP BY 1, 2, 3 shows whose they are.",
				"%d of %d connections are in use.", f.connections, available))
		}
	}
	return findings
}

// judgeSessions reports what a session starts with that no code shows.
func judgeSessions(v *view) []Finding {
	var findings []Finding
	for _, f := range v.asked() {
		if f == v.primary && !f.about.Recovery && f.settings["default_transaction_read_only"].Value == "on" {
			findings = append(findings, found(ReadOnlyDefault, Problem, f.name, "ALTER ROLE .. (or DATABASE ..) RESET default_transaction_read_only.",
				"default_transaction_read_only is on (%s).", f.origin("default_transaction_read_only")))
		}
		if f.serializable {
			findings = append(findings, found(SerializableDefault, Problem, f.name,
				"ALTER ROLE .. (or DATABASE ..) RESET default_transaction_isolation, and ask for SERIALIZABLE in the transactions that need it.",
				"default_transaction_isolation is serializable, for user %q in database %q.", f.about.User, f.about.Database))
		}
		if idle := f.millis("idle_session_timeout"); idle > 0 {
			findings = append(findings, found(IdleSessionTimeout, Warning, f.name,
				"ALTER ROLE .. SET idle_session_timeout = 0 for the application's user, or a shorter Config.Pool.MaxIdleTime.",
				"idle_session_timeout is %v (%s).", idle, f.origin("idle_session_timeout")))
		}
		var set []string
		for _, name := range timeouts {
			if d := f.millis(name); d > 0 && f.settings[name].Source != "client" {
				set = append(set, fmt.Sprintf("%s is %v (%s)", name, d, f.origin(name)))
			}
		}
		if len(set) > 0 {
			findings = append(findings, found(SessionTimeouts, Notice, f.name,
				"Nothing, if they are meant for this application. ALTER ROLE .. SET for its user else; Config.AttemptTimeout bounds a read on a replica alone.",
				"%s.", strings.Join(set, ", ")))
		}
	}
	return append(findings, judgeDifferentTimeouts(v)...)
}

var timeouts = []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "transaction_timeout"}

// judgeDifferentTimeouts reports that a read ends on one server and not on the other.
func judgeDifferentTimeouts(v *view) []Finding {
	if v.primary == nil || v.primary.settings == nil {
		return nil
	}
	const name = "statement_timeout"
	var findings []Finding
	for _, f := range v.replicas() {
		if f.settings == nil || f.millis(name) == v.primary.millis(name) {
			continue
		}
		findings = append(findings, found(SessionTimeouts, Notice, f.name, "Set it alike, by the role: ALTER ROLE .. SET reaches every server.",
			"%s is %s here, and %s on the primary.", name, limit(f.millis(name)), limit(v.primary.millis(name))))
	}
	return findings
}

func limit(d time.Duration) string {
	if d <= 0 {
		return "without limit"
	}
	return d.String()
}

// origin says where a setting comes from.
func (f *facts) origin(name string) string {
	source := f.settings[name].Source
	switch {
	case source == "client":
		return "set by the DSN"
	case slices.Contains([]string{"user", "database", "database user"}, source):
		return fmt.Sprintf("set for %s: role %s, database %s", map[string]string{
			"user": "the role", "database": "the database", "database user": "the role in this database",
		}[source], f.about.User, f.about.Database)
	}
	return "set by the " + source
}
