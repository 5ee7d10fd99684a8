package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

// judgeWAL reports whether WAL gets to the replicas, and how long it is kept.
func judgeWAL(v *view) []Finding {
	if !v.leads() || v.primary.settings == nil {
		return nil
	}
	p := v.primary
	var findings []Finding
	if p.settings["wal_level"].Value == "minimal" {
		findings = append(findings, found(WALLevel, Problem, p.name, "ALTER SYSTEM SET wal_level = replica, and restart it.", "wal_level is minimal."))
	}
	if most := p.value("max_wal_senders"); most > 0 && int64(len(p.standbys)) >= most {
		findings = append(findings, found(WALSenders, Warning, p.name, "ALTER SYSTEM SET max_wal_senders to twice the number of replicas, and restart; on the replicas first.",
			"All %d of max_wal_senders are in use.", most))
	}
	findings = append(findings, judgeSlots(v)...)
	for _, f := range v.replicas() {
		for _, s := range f.slots {
			if !s.Active {
				findings = append(findings, inactive(f, s))
			}
		}
	}
	if p.archiver.Last != "" {
		findings = append(findings, found(ArchiveFailing, Warning, p.name, "Run archive_command by hand for that file; the server's log has what it says.",
			"Archiving fails: %s failed, nothing was archived since, and %s in all.", p.archiver.Last, plural(int(p.archiver.Failed), "attempt failed", "attempts failed")))
	}
	return findings
}

func judgeSlots(v *view) []Finding {
	p := v.primary
	var findings []Finding
	active := 0
	for _, s := range p.slots {
		if s.Active {
			active++
			continue
		}
		findings = append(findings, inactive(p, s))
	}
	kept := p.value("wal_keep_size") > 0 || p.value("wal_keep_segments") > 0 || // the latter until PostgreSQL 12
		p.settings["archive_mode"].Value == "on" || p.settings["archive_mode"].Value == "always"
	if !kept && active < len(p.standbys) {
		findings = append(findings, found(WALNotKept, Notice, p.name,
			"A replication slot for each replica (with max_slot_wal_keep_size), or wal_keep_size, or an archive and restore_command.",
			"%s without a slot, wal_keep_size is 0, and there is no archive.", plural(len(p.standbys)-active, "standby streams", "standbys stream")))
	}
	return findings
}

func inactive(f *facts, s slot) Finding {
	severity, limit := Warning, "max_slot_wal_keep_size bounds what it may hold."
	if n := f.value("max_slot_wal_keep_size"); n < 0 {
		limit = "max_slot_wal_keep_size is -1: nothing bounds what it may hold."
	}
	if s.Status == "lost" || s.Status == "unreserved" {
		severity = Problem
		limit = "Its wal_status is " + s.Status + "."
	}
	return found(SlotInactive, severity, f.name,
		fmt.Sprintf("If its consumer is gone for good: SELECT pg_drop_replication_slot('%s'); else bring it back.", strings.ReplaceAll(s.Name, "'", "''")),
		"Replication slot %q is not in use and holds %s of WAL. %s", s.Name, size(uint64(max(s.Kept, 0))), limit)
}

// judgeCommits reports what a commit waits for.
func judgeCommits(v *view) []Finding {
	if !v.leads() || v.primary.settings == nil {
		return nil
	}
	p := v.primary
	var findings []Finding
	if p.sample.AsyncCommit {
		findings = append(findings, found(AsyncCommit, Notice, p.name,
			"Nothing, if such losses are accepted. Else SHOW synchronous_commit, and: SELECT * FROM pg_db_role_setting.",
			"Commits may be acknowledged before they are on disk: synchronous_commit is off, for a role, a database or in a function at least."))
	}
	commit, names := p.settings["synchronous_commit"].Value, p.settings["synchronous_standby_names"].Value
	waits := names != "" && commit != "off" && commit != "local"
	if waits && p.about.Monitor {
		if there, wanted := p.synchronous(), wantedStandbys(names); there < wanted {
			findings = append(findings, found(SyncStandbyAbsent, Problem, p.name,
				"Bring the standby back, or: ALTER SYSTEM SET synchronous_standby_names = ''; SELECT pg_reload_conf(). The standby's application_name in primary_conninfo (else its cluster_name) must be one of the names.",
				"synchronous_standby_names is %q, which asks for %d; %d of the standbys that stream count.", names, wanted, there))
		}
	}
	if commit == "remote_apply" {
		what := "synchronous_commit is remote_apply, and synchronous_standby_names is empty: it has no effect."
		if waits {
			what = "synchronous_commit is remote_apply."
		}
		findings = append(findings, found(RemoteApply, Notice, p.name, "Nothing, if that is meant.", "%s", what))
	}
	return findings
}

// synchronous is how many standbys commits may wait for.
func (f *facts) synchronous() int {
	n := 0
	for _, s := range f.standbys {
		if s.State == "streaming" && (s.Sync == "sync" || s.Sync == "quorum") {
			n++
		}
	}
	return n
}

// wantedStandbys reads the number in FIRST 2 (a, b), ANY 1 (*), 2 (a, b); 1 elsewhere.
func wantedStandbys(names string) int {
	before, _, ok := strings.Cut(names, "(")
	if !ok {
		return 1
	}
	words := strings.Fields(before)
	if len(words) == 0 {
		return 1
	}
	n, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return 1
	}
	return n
}
