package policy_test

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/policy/policytest"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata with what Explain says now")

// Each block of testdata/*.txt is a comment, the servers and a query as words,
// a line of dashes, and what Explain says about it.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var rewritten []string
			for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
				input, want, _ := strings.Cut(block, "\n----")
				want = strings.TrimPrefix(want, "\n")
				s := parseScene(t, input)
				d := policy.NewDecider(s.rules)
				trace := d.Explain(&s.Query, &s.Snapshot, s.Load, s.Now)
				assert.Equal(t, d.Decide(&s.Query, &s.Snapshot, s.Load, s.Now), trace.Decision, "Decide and Explain disagree:\n%s", block)
				got := strings.TrimRight(trace.String(), "\n")
				if !*update {
					assert.Equal(t, want, got, "%s", input)
				}
				rewritten = append(rewritten, input+"\n----\n"+got)
			}
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(strings.Join(rewritten, "\n\n")+"\n"), 0o600))
			}
		})
	}
}

type scene struct {
	policytest.Case
	rules policy.Rules
}

// words are the words of one line: flags, and keys with values.
type words map[string]string

func (w words) duration(t *testing.T, key string, otherwise time.Duration) time.Duration {
	if w[key] == "" {
		return otherwise
	}
	d, err := time.ParseDuration(w[key])
	require.NoError(t, err, key)
	return d
}

func (w words) number(t *testing.T, key string) int {
	if w[key] == "" {
		return 0
	}
	n, err := strconv.Atoi(w[key])
	require.NoError(t, err, key)
	return n
}

func (w words) has(key string) bool { _, ok := w[key]; return ok }

func (w words) position(t *testing.T, key string) lsn.Position {
	if w[key] == "" {
		return lsn.Position{}
	}
	at, err := lsn.ParseLSN(w[key])
	require.NoError(t, err)
	return lsn.Position{History: lsn.History{System: 7, Timeline: uint32(1 + w.number(t, "timeline")), Incarnation: 1}, LSN: at}
}

// ago returns the time that is key ago; "never" is no time at all.
func (w words) ago(t *testing.T, now time.Time, key string, otherwise time.Duration) time.Time {
	if w[key] == "never" {
		return time.Time{}
	}
	return now.Add(-w.duration(t, key, otherwise))
}

func parseScene(t *testing.T, input string) *scene {
	s := &scene{}
	s.Now = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	s.rules.Limits = policy.Limits{MaxLag: 2 * time.Second, MaxSampleAge: time.Second, MaxWait: 5 * time.Millisecond}
	for line := range strings.SplitSeq(input, "\n") {
		fields := strings.Fields(line)
		w := words{}
		for _, f := range fields[1:] {
			key, value, _ := strings.Cut(f, "=")
			w[key] = value
		}
		switch fields[0] {
		case "#":
		case "limits":
			s.rules.Limits.MaxWait = w.duration(t, "wait", s.rules.Limits.MaxWait)
			s.rules.Limits.SlowStart = w.duration(t, "slow_start", 0)
			s.rules.Limits.RefuseWhenLost = w.has("refuse_when_lost")
		case "policies":
			for _, f := range fields[1:] {
				s.rules.Policies = append(s.rules.Policies, parsePolicy(t, f))
			}
		case "balancer":
			s.rules.Balancer = map[string]policy.Balancer{
				"round_robin": policy.RoundRobin(), "zone_first": policy.ZoneFirst(policy.RoundRobin()),
			}[fields[1]]
			require.NotNil(t, s.rules.Balancer, line)
		case "primary":
			s.Snapshot.Primary = policy.Primary{Name: "pg1", Lost: w.has("lost")}
		case "replica":
			s.replica(t, fields[1], w)
		case "query":
			s.query(t, w)
		default:
			require.Fail(t, "unknown word", line)
		}
	}
	return s
}

func parsePolicy(t *testing.T, text string) policy.Policy {
	name, value, _ := strings.Cut(text, "=")
	w := words{name: value}
	switch name {
	case "sticky":
		return policy.Sticky(w.duration(t, name, 0))
	case "rest_of_request":
		return policy.RestOfRequest()
	case "one_server":
		return policy.OneServer()
	case "max_lag":
		return policy.MaxLag(w.duration(t, name, 0))
	case "max_bytes":
		return policy.MaxBytes(uint64(w.number(t, name)))
	}
	require.Fail(t, "unknown policy", text)
	return nil
}

func (s *scene) replica(t *testing.T, name string, w words) {
	r := policy.Replica{
		Name: name, Zone: w["zone"], Weight: w.number(t, "weight"), Role: policy.RoleStandby,
		Up: !w.has("down"), Balanced: w.has("balanced"), Paused: w.has("paused"), AllowPrimary: w.has("allow_primary"),
		Sampled: w.ago(t, s.Now, "sampled", 100*time.Millisecond), ReplayedAt: w.ago(t, s.Now, "replayed", 300*time.Millisecond),
		Applied: w.position(t, "at"), Margin: w.duration(t, "margin", 0), CatchUp: w.duration(t, "catches_up", time.Millisecond),
		BehindBytes: uint64(w.number(t, "bytes")), Drained: w.has("drained"), Gone: w.has("gone"), Reserved: w.has("reserved"),
		NoPosition: w.has("no_position"), StatedLag: w.duration(t, "stated_lag", 0),
	}
	if w.has("ejected_for") {
		r.EjectedUntil = s.Now.Add(w.duration(t, "ejected_for", 0))
	}
	if w.has("back_for") {
		r.Since = w.ago(t, s.Now, "back_for", 0)
	}
	if w["groups"] != "" {
		r.Groups = strings.Split(w["groups"], ",")
	}
	if role, ok := map[string]policy.Role{"primary": policy.RolePrimary, "unknown": policy.RoleUnknown, "foreign": policy.RoleForeign, "logical": policy.RoleLogical}[w["role"]]; ok {
		r.Role = role
	}
	s.Snapshot.Replicas = append(s.Snapshot.Replicas, r)
	s.Load = append(s.Load, int64(w.number(t, "in_flight")))
}

func (s *scene) query(t *testing.T, w words) {
	s.Query = policy.Query{
		AtMost: w.duration(t, "at_most", 0), Group: w["group"], Zone: w["zone"], Need: w.position(t, "need"),
		Pending: w.has("pending"), Unsure: w.has("unsure"), Foreign: w.has("foreign"), Wrote: w.has("wrote"), Monotonic: w.has("monotonic"),
		PreferPrimary: w.has("prefer_primary"), Held: w.number(t, "held"), Waited: w.duration(t, "waited", 0),
		LastWrite: w.ago(t, s.Now, "wrote_ago", 0), Ticket: uint64(w.number(t, "ticket")),
		TryEjected: w.has("try_ejected"), Random: uint64(w.number(t, "random")),
	}
	if w["withheld"] != "" {
		require.NoError(t, s.Query.Withheld.UnmarshalText([]byte(w["withheld"])))
	}
	if !w.has("wrote_ago") {
		s.Query.LastWrite = time.Time{}
	}
	for kind := policy.Unknown; kind <= policy.Write; kind++ {
		if w.has(kind.String()) {
			s.Query.Statement = kind
		}
	}
	for mode := policy.Normal; mode <= policy.AnyReplica; mode++ {
		if w.has(mode.String()) {
			s.Query.Mode = mode
		}
	}
	for bit := range strings.SplitSeq(w["failed_on"], ",") {
		if bit != "" {
			n, err := strconv.Atoi(bit)
			require.NoError(t, err)
			s.Query.Exclude |= 1 << n
		}
	}
}
