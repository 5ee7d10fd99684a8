package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// fewReads is how many reads are too few to speak of shares.
	fewReads = 100
	// lowShare is the share of reads below which replicas are said to be idle.
	lowShare = 0.5
	// manyRetries is one read in so many.
	manyRetries = 100
)

// judgeApplication judges what a running application says of itself.
func judgeApplication(a application) []Finding {
	var findings []Finding
	for i := range a.Routers {
		r := &a.Routers[i]
		findings = append(findings, judgeShare(r)...)
		findings = append(findings, judgeOperators(r)...)
		findings = append(findings, judgeCounters(r)...)
		for _, s := range r.Servers {
			findings = append(findings, judgeAppServer(r, s)...)
		}
	}
	for _, c := range a.Connections {
		if c.Needed > c.Available {
			findings = append(findings, found(AppConnections, Problem, strings.Join(c.Servers, ", "),
				"Smaller pools (Config.Pool.MaxOpen, SetMaxOpenConns), or a larger max_connections; Config.Instances must be right.",
				"All instances may open %d connections, and it takes %d.", c.Needed, c.Available))
		}
	}
	return findings
}

// of names what a finding is about: servers of a resolver have its name in front.
func (r *appRouter) of(server string) string {
	if r.Name != "" && server != "" {
		return r.Name + "/" + server
	}
	return r.Name + server
}

// remedies are for the reasons for which a read goes to the primary although
// replicas are there, other than that its text or its context asked for it.
var remedies = map[string]string{
	"behind_session":     process,
	"wait_expired":       process,
	"position_pending":   process,
	"unsure":             "Look for writes that were cancelled or broken off, and for tokens that are refused.",
	"other_history":      "There was a failover, or tokens come from another cluster. It ends with the sticky window.",
	"sticky_window":      "Replicas do not tell their position, or policy.Sticky is configured: shorten Config.StickyWindow, or let the user ask for the position where the servers have one.",
	"rest_of_request":    "httpsession keeps the rest of a request that has written on the primary; that is an option.",
	"lagging":            "Run the doctor on the servers: replay does not keep up, or is paused or delayed.",
	"behind_bytes":       "Run the doctor on the servers: replay does not keep up, or is paused or delayed.",
	"lag_unknown":        "Run the doctor on the servers: is the primary reached, and do the replicas follow it?",
	"no_position":        "The replicas do not tell their replay position: GRANT EXECUTE on pg_last_wal_replay_lsn() and its like to the user, or set Replica.StatedLag.",
	"unproven_history":   "GRANT pg_monitor to the user. Run the doctor on the servers: do the replicas follow this primary?",
	"no_news":            "The replicas have not answered since the start: addresses, passwords, pg_hba.conf. Run the doctor on the servers.",
	"old_news":           "The process or the network is overloaded: answers of the replicas are older than Config.MaxSampleAge.",
	"down":               "The replicas do not answer. Run the doctor on the servers.",
	"ejected":            "Reads fail on the replicas, one after the other: look at their logs.",
	"balanced":           "Reads could not find out behind the name of a replica what they are shown: set Replica{Balanced: true} where it is meant, and begin read-only transactions behind a pooler in READ COMMITTED. Names of their own are better.",
	"not_a_standby":      "What is named as a replica is a primary. Run the doctor on the servers.",
	"drained":            "An operator has taken the replicas out of service: Plugin.Resume.",
	"unknown_statement":  "Statements that are not provably reads: declare functions STABLE, or name them in Config.ReadFunctions. Status().Catalog.Risks has what is risky.",
	"prefer_primary":     "Config.Default is PreferPrimary: mark requests with UseReplica, or set PreferReplica.",
	"kill_switch":        "Plugin.SetTraffic(policy.Traffic{}), when what it was for is over.",
	"percent":            "Plugin.SetTraffic with a larger Percent.",
	"shadow":             "Plugin.SetTraffic(policy.Traffic{}), when Status().Shadow shows what you expected.",
	"no_replicas":        "Set Config.Replicas.",
	"group_empty":        "No replica is in the group that the context names.",
	"group_on_primary":   "No replica of a group is right for its reads: look at those replicas, or set Otherwise of the group in Config.Groups.",
	"reserved":           "All replicas are reserved for groups (Replica.Reserved): add one for the site.",
	"fresh":              "Code asks for current data: look where readsplit.Fresh is used.",
	"refused_by_replica": "Replicas refuse statements that are taken for reads: functions that are declared stable and write.",
	"keeps_conflicting":  "Replay cancels these statements again and again: shorter queries, max_standby_streaming_delay, or Config.ConflictGroup.",
	"not_found_recheck":  "Rows are asked for that do not exist: Config.NotFound looks for each on the primary once more.",
}

const process = "Give each user, request or job a session (readsplit.WithSession, or the middleware httpsession, grpcsession, jobs). Where there are sessions, replicas are slower than users: look at their lag, or raise Config.MaxWait."

// judgeShare tells which share of the reads replicas serve, and why not more.
func judgeShare(r *appRouter) []Finding {
	all := r.Reads.Replicas + r.Reads.Primary
	replicas := slices.ContainsFunc(r.Servers, func(s appServer) bool { return !s.Primary })
	if !replicas {
		return nil // a resolver that only has a primary
	}
	if all < fewReads {
		return []Finding{found(AppNoReads, Notice, r.of(""), "Come back when it has served some.", "%d reads since it started.", all)}
	}
	share := float64(r.Reads.Replicas) / float64(all)
	now := ""
	if r.Reads.Now != nil {
		now = fmt.Sprintf(" (%.1f %% now)", *r.Reads.Now*100)
	}
	what := fmt.Sprintf("Replicas served %.1f %% of %d reads%s.", share*100, all, now)
	// An incident of now hides in the share of weeks, and its reason among theirs.
	if share >= lowShare && !r.MostlyPrimary {
		return []Finding{fine(AppShare, r.of(""), "%s", what)}
	}
	reason, count, most := "", uint64(0), 0.0
	for _, c := range r.Reasons {
		weight := float64(c.Count)
		if r.MostlyPrimary {
			weight = c.PerSecond
		}
		if _, avoidable := remedies[c.Reason]; avoidable && !c.Replica && !c.Refused && weight > most {
			reason, count, most = c.Reason, c.Count, weight
		}
	}
	if reason == "" {
		return []Finding{found(AppShareLow, Warning, r.of(""), "The page's reasons say where reads go.", "%s", what)}
	}
	id, remedy := AppShareLow, remedies[reason]
	if remedy == process {
		id = AppProcessSession
	}
	return []Finding{found(id, Warning, r.of(""), remedy,
		"%s The most frequent reason for the primary is %s: %s.", what, reason, plural(int(count), "statement", "statements"))}
}

// judgeOperators reports switches that are set.
func judgeOperators(r *appRouter) []Finding {
	t := r.Traffic
	if t == nil {
		return nil
	}
	var set []string
	if t.KillSwitch {
		set = append(set, "the kill switch")
	}
	if t.Percent > 0 {
		set = append(set, fmt.Sprintf("%d %% of the reads", t.Percent))
	}
	if t.Shadow {
		set = append(set, "shadow mode")
	}
	if len(set) == 0 {
		return nil
	}
	return []Finding{found(AppTraffic, Warning, r.of(""), "Plugin.SetTraffic(policy.Traffic{}), when what it was for is over.", "Set: %s.", strings.Join(set, ", "))}
}

// judgeCounters reports what should be rare.
func judgeCounters(r *appRouter) []Finding {
	var findings []Finding
	reads := r.Reads.Replicas + r.Reads.Primary
	if n, by := counted(r.Retries); n*manyRetries > reads {
		findings = append(findings, found(AppRetries, Warning, r.of(""), "Look at the logs of the replicas; docs/retries.md has the causes.",
			"%d of %d reads were run again: %s.", n, reads, by))
	}
	if r.KeepConflicting > 0 {
		findings = append(findings, found(AppConflicts, Warning, r.of(""),
			"Shorter queries, a larger max_standby_streaming_delay or hot_standby_feedback on a replica for reports, and Config.ConflictGroup.",
			"%s kept being cancelled by replay.", plural(r.KeepConflicting, "statement", "statements")))
	}
	if r.UnsureWrites > 0 {
		findings = append(findings, found(AppUnsureWrites, Notice, r.of(""), "Look for deadlines of contexts that end during a COMMIT, and for connections to the primary that break.",
			"%s with an outcome that nobody knows.", plural(int(r.UnsureWrites), "write", "writes")))
	}
	if n, by := counted(r.Tokens); n > 0 {
		findings = append(findings, found(AppTokens, Warning, r.of(""),
			"refused: Config.TokenKeys must be the same everywhere, old keys behind the new one. foreign: tokens of another database, or from before a failover or a crash of the primary. expired: clients that come back late, or clocks.",
			"%s not accepted: %s.", plural(int(n), "token was", "tokens were"), by))
	}
	if b := r.Budget; b != nil && b.Refused+b.ServedStale > 0 {
		findings = append(findings, found(AppBudget, Warning, r.of(""), "Look why reads do not go to replicas; else raise Config.PrimaryBudget.Reads.",
			"The budget of %d reads on the primary was not enough: %d refused, %d served stale, %d waiting now.", b.Reads, b.Refused, b.ServedStale, b.Waiting))
	}
	return findings
}

// counted adds up what has labels, and writes it down.
func counted(counts map[string]uint64) (sum uint64, text string) {
	var parts []string
	for _, label := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[label]; n > 0 {
			sum += n
			parts = append(parts, fmt.Sprintf("%s %d", label, n))
		}
	}
	return sum, strings.Join(parts, ", ")
}

// judgeAppServer reports a server that is not well in the application's eyes.
func judgeAppServer(r *appRouter, s appServer) []Finding {
	var findings []Finding
	if s.State != "up" && s.State != "" {
		severity := Warning
		if s.Primary || s.State == "down" || s.State == "writable" {
			severity = Problem
		}
		findings = append(findings, found(AppServer, severity, r.of(s.Name), s.Advice, "The application calls it %s.", s.State))
	}
	if s.Pool.Waits > 0 && s.Pool.Max > 0 {
		severity := Notice
		if s.Pool.InUse >= s.Pool.Max {
			severity = Warning
		}
		findings = append(findings, found(AppPoolWaits, severity, r.of(s.Name), "A larger pool, where the server takes it, or shorter transactions.",
			"Statements waited for a connection %s since the start; %d of %d are in use now.", plural(int(s.Pool.Waits), "time", "times"), s.Pool.InUse, s.Pool.Max))
	}
	return findings
}
