package doctor

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// judgeVersions compares versions with what is supported, and with each other.
func judgeVersions(v *view) []Finding {
	var findings []Finding
	for _, f := range v.asked() {
		switch major := f.about.Number / 10000; {
		case major < 12:
			findings = append(findings, found(VersionOld, Problem, f.name, "Upgrade to PostgreSQL 15 or newer.", "It is PostgreSQL %s; 12 is the oldest that can work.", version(f.about.Version)))
		case major < 15 || major > 18:
			findings = append(findings, found(VersionUntested, Notice, f.name, "Run your own tests on it.", "It is PostgreSQL %d.", major))
		}
		if v.primary == nil || f == v.primary || f.about.Number == v.primary.about.Number {
			continue
		}
		if f.about.Number/10000 != v.primary.about.Number/10000 {
			findings = append(findings, found(VersionsDiffer, Problem, f.name, "Upgrade both (pg_upgrade), or correct the DSN. Replicas by logical replication have other positions and cannot be used.",
				"It is PostgreSQL %s, and the primary is %s.", version(f.about.Version), version(v.primary.about.Version)))
		} else {
			findings = append(findings, found(MinorsDiffer, Notice, f.name, "Upgrade the older one; a restart is enough.",
				"It is PostgreSQL %s, and the primary is %s.", version(f.about.Version), version(v.primary.about.Version)))
		}
	}
	return findings
}

// mostSkew is how far clocks may be apart without a word.
const mostSkew = time.Second

// judgeClocks compares the servers' clocks with this machine's, by the quickest of
// the answers: what was on its way for long says little.
func judgeClocks(v *view) []Finding {
	var findings []Finding
	for _, f := range v.asked() {
		best, skew := time.Duration(math.MaxInt64), time.Duration(0)
		for _, m := range v.series(f) {
			if took := m.ended.Sub(m.began); took < best {
				middle := m.began.Add(took / 2)
				best, skew = took, time.Duration(m.Clock*float64(time.Second))-time.Duration(middle.UnixNano())
			}
		}
		if off := skew.Abs() - best/2; best < math.MaxInt64 && off > mostSkew {
			direction := "ahead of"
			if skew < 0 {
				direction = "behind"
			}
			findings = append(findings, found(ClockSkew, Warning, f.name, "Run a time service (chrony, systemd-timesyncd) on both.",
				"Its clock is at least %s %s this machine's.", span(off), direction))
		}
	}
	return findings
}

// judgePrivileges reports questions that were refused, and what is hidden.
func judgePrivileges(v *view) []Finding {
	var findings []Finding
	for _, f := range v.asked() {
		said := map[string]bool{}
		for _, r := range f.refused {
			if f.lost != "" && r.code == "" {
				continue // it is gone, which is reported
			}
			severity := Notice
			if r.asked {
				severity = Problem
			}
			if said[r.why] {
				continue // one privilege that several questions need
			}
			said[r.why] = true
			findings = append(findings, f.unanswered(severity, r))
		}
		if !f.about.Monitor {
			findings = append(findings, found(MonitorRoleMissing, Notice, f.name, fmt.Sprintf("On the primary: GRANT pg_monitor TO %s.", f.about.User),
				"User %q is not in pg_monitor, nor in pg_read_all_stats.", f.about.User))
		}
		if f == v.primary && !f.about.Emit && !f.about.Recovery {
			findings = append(findings, found(QuestionRefused, Notice, f.name,
				fmt.Sprintf("GRANT EXECUTE ON FUNCTION pg_logical_emit_message(boolean, text, text) TO %s, or set Config.ForbidNudge.", f.about.User),
				"User %q may not write the small message that shows that the replicas of a quiet primary are not behind.", f.about.User))
		}
	}
	return findings
}

// unanswered reports a question that was denied, or failed.
func (f *facts) unanswered(s Severity, r refusal) Finding {
	if r.code != "42501" {
		return found(QuestionRefused, s, f.name, "Look at the server's log and at its load; a longer -timeout helps where it is only slow.",
			"The question for %s failed: %s.", r.what, r.why)
	}
	return found(QuestionRefused, s, f.name,
		fmt.Sprintf("As a superuser on the primary, in database %s: %s", f.about.Database, grant(r.why, f.about.User)),
		"User %q may not ask for %s: %s.", f.about.User, r.what, r.why)
}

// grant is the statement that gives what was denied, as far as the server said it.
func grant(why, user string) string {
	what, _, _ := strings.Cut(strings.TrimPrefix(why, "permission denied for "), " (")
	kind, name, ok := strings.Cut(what, " ")
	switch {
	case !strings.HasPrefix(why, "permission denied for ") || !ok:
		return fmt.Sprintf("GRANT pg_monitor TO %s, or what is denied.", user)
	case kind == "function":
		return fmt.Sprintf("GRANT EXECUTE ON FUNCTION %s TO %s.", name, user)
	}
	return fmt.Sprintf("GRANT SELECT ON %s TO %s.", name, user)
}

// judgeStandbySettings reports what a standby must have at least as much of.
func judgeStandbySettings(v *view) []Finding {
	if !v.leads() || v.primary.settings == nil {
		return nil
	}
	var findings []Finding
	for _, f := range v.replicas() {
		if !f.about.Recovery || f.settings == nil {
			continue
		}
		var lower []string
		for _, name := range []string{"max_connections", "max_worker_processes", "max_wal_senders", "max_prepared_transactions", "max_locks_per_transaction"} {
			if f.value(name) < v.primary.value(name) {
				lower = append(lower, fmt.Sprintf("%s %d (the primary's is %d)", name, f.value(name), v.primary.value(name)))
			}
		}
		if len(lower) > 0 {
			findings = append(findings, found(StandbySettings, Problem, f.name, "Raise it on the replica and restart that. Always raise replicas first, and lower the primary first.",
				"Lower than on the primary: %s.", strings.Join(lower, ", ")))
		}
	}
	return findings
}

// judgeTransactions reports old transactions.
func judgeTransactions(v *view) []Finding {
	var findings []Finding
	for _, f := range v.asked() {
		if len(f.idle) == 0 {
			continue
		}
		oldest := slices.MaxFunc(f.idle, func(a, b transaction) int {
			if a.Age < b.Age {
				return -1
			}
			return 1
		})
		findings = append(findings, found(LongTransaction, Warning, f.name,
			fmt.Sprintf("SELECT * FROM pg_stat_activity WHERE pid = %d; SELECT pg_terminate_backend(%d), if nobody needs it. idle_in_transaction_session_timeout for those that forget.", oldest.PID, oldest.PID),
			"%s than %v, the oldest (pid %d, user %q, %s) for %s.", plural(len(f.idle), "transaction is older", "transactions are older"), v.LongTransaction,
			oldest.PID, oldest.User, oldest.State, span(time.Duration(oldest.Age*float64(time.Second)))))
	}
	return findings
}
