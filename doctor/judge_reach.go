package doctor

import (
	"net"
	"strings"
)

// judgeReach reports servers that could not be asked.
func judgeReach(v *view) []Finding {
	var findings []Finding
	for _, f := range v.all {
		if f.cfg == nil {
			continue // its DSN was reported
		}
		if f.dialed != nil {
			findings = append(findings, unreached(v, f))
			continue
		}
		if f.lost != "" {
			findings = append(findings, found(Unreachable, Problem, f.name, "Look at the server's log, and at its load.",
				"It answered at first, and then no longer: %s.", f.lost))
		}
	}
	return findings
}

func unreached(v *view, f *facts) Finding {
	address, why := addressOf(f.cfg), redacted(reason(f.dialed), f.cfg.Password)
	severity := Problem
	if f.primary && v.leads() {
		severity = Warning // another of the primary's hosts is the primary
	}
	switch code := sqlstate(f.dialed); {
	case strings.HasPrefix(code, "28") || code == "3D000" || code == "42501":
		return found(LoginRefused, severity, f.name,
			"Compare user, password and database with those of the application, and pg_hba.conf with the address of this machine. Replicas have the primary's users and passwords; pg_hba.conf is each server's own.",
			"%s refuses user %q, database %q: %s.", address, f.cfg.User, f.cfg.Database, why)
	case code == "53300":
		return found(ConnectionsUsedUp, Problem, f.name,
			"SELECT usename, application_name, state, count(*) FROM pg_stat_activity GROUP BY 1, 2, 3 shows whose they are. Make pools smaller (Config.Pool, Config.Instances), or raise max_connections, on replicas first.",
			"%s takes no more connections: %s.", address, why)
	case code == "42704":
		// The server quotes the name, which a password without its quotes may have become.
		return found(DSNInvalid, severity, f.name, "Look which keys of the DSN are no parameters of a server; a password with blanks needs quotes: password='..'.",
			"%s does not know a parameter that the DSN sets (SQLSTATE 42704). It is not shown, since it may be a part of a password.", address)
	case code == "57P03":
		return found(Unreachable, severity, f.name,
			"Wait, if it was just started; else look at its log: a replica that was copied without its WAL never gets consistent, and hot_standby = off admits nobody.",
			"%s is there and admits nobody: %s.", address, why)
	default:
		remedy := "Is the server running, is it the right host and port, does listen_addresses name that address, does a firewall stand between?"
		if f.cfg.ValidateConnect != nil {
			remedy = "Take target_session_attrs out of the DSN: it refuses a server in another role than the one it names. " + remedy
		}
		return found(Unreachable, severity, f.name, remedy,
			"%s cannot be reached: %s.", address, why)
	}
}

// judgeDSNs reports what a DSN says, and what it does not say.
func judgeDSNs(v *view) []Finding {
	var findings []Finding
	hosts := false
	for _, f := range v.all {
		if f.cfg == nil || f.primary && hosts {
			continue // unreadable, or another host of the same DSN
		}
		hosts = hosts || f.primary
		if f.cfg.Database == "" {
			findings = append(findings, found(DatabaseNotNamed, Warning, f.name, "Add dbname=.. (in a URL, /database behind the host).",
				"The DSN names no database, so that it is the one called %q.", f.cfg.User))
		}
		if !f.primary && len(hostsOf(f.cfg)) > 1 {
			findings = append(findings, found(SeveralHosts, Warning, f.name, "Give each server a name and a DSN of its own.",
				"The DSN of a replica names %d hosts.", len(hostsOf(f.cfg))))
		}
		if overNetwork(f.cfg.Host) && plaintext(f) {
			findings = append(findings, found(TLSOptional, Notice, f.name, "sslmode=verify-full with sslrootcert; sslmode=require at least.",
				"The DSN lets a connection to %s go without TLS (sslmode=disable, allow or prefer; prefer is the default).", f.cfg.Host))
		}
		if f.cfg.RuntimeParams["application_name"] == "" && f.cfg.RuntimeParams["fallback_application_name"] == "" {
			findings = append(findings, found(ApplicationName, Notice, f.name, "Add application_name=.. with the name of the service.",
				"The DSN names no application."))
		}
	}
	if v.primary != nil {
		for _, f := range v.replicas() {
			if f.about.Database != v.primary.about.Database {
				findings = append(findings, found(DatabasesDiffer, Problem, f.name, "Name the same database in both DSNs.",
					"It is connected to database %q, and the primary to %q.", f.about.Database, v.primary.about.Database))
			}
		}
	}
	return findings
}

func overNetwork(host string) bool {
	if host == "" || host == "localhost" || strings.HasPrefix(host, "/") {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}

// plaintext reports whether one of the ways to connect does without TLS.
func plaintext(f *facts) bool {
	if f.cfg.TLSConfig == nil {
		return true
	}
	for _, w := range f.cfg.Fallbacks {
		if w.TLSConfig == nil {
			return true
		}
	}
	return false
}
