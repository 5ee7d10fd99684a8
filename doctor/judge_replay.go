package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// page is how far behind a replica may seem on a primary that writes nothing: a
// flush position can rest inside a record that nobody has finished.
const page = 8192

// judgeReplay reports replicas that do not apply what the primary writes, each for
// one reason: the lag of one that is paused is no finding of its own.
func judgeReplay(v *view) []Finding {
	var findings []Finding
	for _, f := range v.replicas() {
		m, seen := v.lastOf(f)
		if !seen || !f.about.Recovery || len(f.through.servers) > 1 || v.foreign(f) {
			continue
		}
		l, compared := v.lagOf(f)
		how := "How far it is behind is not known."
		if compared {
			how = fmt.Sprintf("It is %s behind%s.", size(l.bytes), v.old(l))
		}
		stuck := false
		if delay := f.millis("recovery_min_apply_delay"); delay > 0 {
			severity := Warning
			if delay >= v.MaxLag {
				severity = Problem
			}
			findings = append(findings, found(ApplyDelay, severity, f.name,
				"ALTER SYSTEM SET recovery_min_apply_delay = 0; SELECT pg_reload_conf(). A replica that is delayed on purpose is for accidents, not for reads: leave it out of Config.Replicas.",
				"recovery_min_apply_delay is %v. %s", delay, how))
			stuck = true
		}
		if m.Paused {
			findings = append(findings, found(ReplayPaused, Problem, f.name,
				"SELECT pg_wal_replay_resume(), when what it was paused for is over. The server pauses by itself where a setting is lower than the primary's.",
				"Replay is paused. %s", how))
			stuck = true
		}
		broken := v.cutOff(f, m)
		if broken != "" {
			findings = append(findings, found(CutOff, Problem, f.name,
				v.whereToLook()+"primary_conninfo, the password of the replication user, pg_hba.conf of the primary, max_wal_senders, and whether the WAL that it needs is still there.",
				"%s %s", broken, how))
			stuck = true
		} else if !m.Receiver {
			findings = append(findings, found(FedFromArchive, Warning, f.name, "Set primary_conninfo, so that it streams.",
				"No WAL receiver runs; it replays what restore_command brings. %s", how))
			stuck = true
		}
		if !stuck && compared {
			findings = append(findings, judgeLag(v, f, l))
		}
	}
	return append(findings, judgeUpstreams(v)...)
}

// foreign reports whether a replica is known to be of another history than the
// primary: its positions cannot be compared.
func (v *view) foreign(f *facts) bool {
	if !v.leads() {
		return false
	}
	own := v.primary.sample
	return f.sample.System != own.System || f.sample.ReceivedTimeline != 0 && f.sample.ReceivedTimeline != own.Timeline ||
		f.sample.ControlTimeline > own.Timeline
}

// old says how old a replica is, where that is known.
func (v *view) old(l lag) string {
	switch {
	case l.known:
		return ", " + span(l.age) + " at most"
	case len(v.rounds) > 1:
		return ", and older than the " + v.Watch.String() + " that it was watched for"
	}
	return ""
}

// whereToLook begins the remedy for a replica that receives nothing. Where nobody
// reaches its primary, its own settings are not what to look at first.
func (v *view) whereToLook() string {
	if v.primary == nil && slices.ContainsFunc(v.all, func(f *facts) bool { return f.primary }) {
		return "The primary does not answer: bring it back, which should end this. If not, look at the replica's log: "
	}
	return "Look at its log: "
}

// cutOff says why a replica receives nothing; empty where it does, or needs nothing.
func (v *view) cutOff(f *facts, m moment) string {
	rows := ""
	if v.leads() {
		rows = fmt.Sprintf(" (pg_stat_replication of the primary has %s)", plural(len(v.primary.standbys), "row", "rows"))
	}
	moments := v.series(f)
	moved := moments[0].Replay < m.Replay
	if !m.Receiver {
		// From an archive it moves by whole files, each of which may be minutes old.
		conninfo, told := f.settings["primary_conninfo"]
		if f.settings["restore_command"].Value != "" && (moved || len(moments) == 1 || told && conninfo.Value == "") {
			return ""
		}
		return "No WAL receiver runs" + rows + "."
	}
	if !v.leads() || m.Receive == 0 || len(moments) < 2 {
		return ""
	}
	led := v.series(v.primary)
	if len(led) > 1 && led[0].Flush > moments[0].Receive && moments[0].Receive == m.Receive {
		return fmt.Sprintf("A WAL receiver runs, and has received nothing in %v, while the primary is %s further%s.",
			v.Watch, size(behind(led[len(led)-1].Flush, m.Receive)), rows)
	}
	return ""
}

func judgeLag(v *view, f *facts, l lag) Finding {
	const remedy = "Look for a long query there that replay waits for (pg_stat_activity, wait_event of the startup process), for a bulk write or a vacuum of a large table on the primary, for full disks and the network between the two."
	little := l.bytes < page && (l.still || v.Watch < v.MaxLag)
	if l.bytes == 0 || l.known && l.age <= v.MaxLag || little {
		if l.worst > v.MaxLag {
			return found(ReplicaBehind, Warning, f.name, remedy, "It was %s behind while it was watched, and is %s behind now. MaxLag is %v.", span(l.worst), size(l.bytes), v.MaxLag)
		}
		return fine(ReplicaCurrent, f.name, "%s behind in the last of %s.", size(l.bytes), plural(l.times, "look", "looks"))
	}
	severity, grows := Warning, ""
	if l.grew {
		severity, grows = Problem, ", and that grows"
	}
	return found(ReplicaBehind, severity, f.name, remedy,
		"It is %s behind%s%s. MaxLag is %v.", size(l.bytes), v.old(l), grows, v.MaxLag)
}

// judgeUpstreams reports replicas that receive from another replica: fewer rows on
// the primary than replicas that receive.
func judgeUpstreams(v *view) []Finding {
	if !v.leads() {
		return nil
	}
	known := map[string]int{}
	for _, s := range v.primary.standbys {
		known[s.Name]++
	}
	var streaming, others []*facts
	for _, f := range v.replicas() {
		if m, ok := v.lastOf(f); !ok || !m.Receiver || len(f.through.servers) > 1 || v.foreign(f) {
			continue
		}
		streaming = append(streaming, f)
		if known[f.about.Cluster] == 0 {
			others = append(others, f)
		}
	}
	if len(streaming) <= len(v.primary.standbys) {
		return nil // a name that is not found is one that primary_conninfo gives
	}
	var findings []Finding
	for _, f := range others {
		from := "another server"
		if r := f.receiver; r != nil && r.Host != "" {
			from = fmt.Sprintf("%s:%d", r.Host, r.Port)
		}
		findings = append(findings, found(Cascading, Notice, f.name, "Nothing, if that is meant. Else set its primary_conninfo.",
			"It receives from %s: pg_stat_replication of the primary does not have it.", from))
	}
	return findings
}

// judgeReplaySettings reports what happens between queries and replay on a replica.
func judgeReplaySettings(v *view) []Finding {
	var findings []Finding
	for _, f := range v.replicas() {
		if !f.about.Recovery || f.settings == nil {
			continue
		}
		switch delay := f.millis("max_standby_streaming_delay"); {
		case delay < 0:
			findings = append(findings, found(StandbyDelay, Warning, f.name,
				"ALTER SYSTEM SET max_standby_streaming_delay = '30s', or less; a replica for long reports may keep it, in a group of its own (Replica.Groups).",
				"max_standby_streaming_delay is -1: a query may stop replay for ever."))
		case delay > v.MaxLag:
			findings = append(findings, found(StandbyDelay, Notice, f.name,
				fmt.Sprintf("Nothing, if queries are short. Else ALTER SYSTEM SET max_standby_streaming_delay = '%v', or a replica for long reports in a group of its own (Replica.Groups).", v.MaxLag),
				"max_standby_streaming_delay is %v: a query may stop replay for longer than MaxLag, %v.", delay, v.MaxLag))
		}
		if f.settings["hot_standby_feedback"].Value == "off" {
			findings = append(findings, found(FeedbackOff, Notice, f.name,
				"ALTER SYSTEM SET hot_standby_feedback = on, where reports run; the primary then keeps dead rows for as long as they run.",
				"hot_standby_feedback is off."))
		}
		var counted []string
		sum := int64(0)
		for _, kind := range []string{"snapshot", "lock", "buffer pin", "tablespace", "deadlock"} {
			if n := f.conflicts[kind]; n > 0 {
				counted = append(counted, fmt.Sprintf("%s %d", kind, n))
				sum += n
			}
		}
		if sum > 0 {
			findings = append(findings, found(Conflicts, Notice, f.name,
				"snapshot: hot_standby_feedback = on; lock: DDL and the vacuum's truncation at the primary (vacuum_truncate = off for busy tables); or max_standby_streaming_delay, or shorter queries.",
				"Replay has cancelled %s in this database since the statistics were reset: %s.", plural(int(sum), "query", "queries"), strings.Join(counted, ", ")))
		}
	}
	return findings
}
