package policy_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/policy"
)

// declared are the names of the constants in reason.go in their order, with
// their comments.
func declared(t *testing.T) (names, comments []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, parser.ParseComments)
	require.NoError(t, err)
	for _, decl := range file.Decls {
		if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				names = append(names, v.Names[0].Name)
				comments = append(comments, v.Doc.Text())
			}
		}
	}
	return names, comments
}

// A reason that was declared and forgotten in the list of labels would be
// "invalid" on every dashboard.
func TestEveryReasonHasItsNameAsLabelAndAComment(t *testing.T) {
	names, comments := declared(t)
	word := regexp.MustCompile(`[A-Z][a-z]*`)
	for i, name := range names {
		parts := word.FindAllString(strings.TrimPrefix(name, "Reason"), -1)
		label := strings.ToLower(strings.Join(parts, "_"))
		assert.Equal(t, label, policy.Reason(i).String())
		assert.LessOrEqual(t, len(label), 24, label)
		if i > 0 {
			assert.True(t, strings.HasPrefix(comments[i], name+": "), "%s: want a comment that begins with the name and a colon", name)
		}
	}
	all := policy.Reasons()
	assert.Len(t, all, len(names)-1)
	assert.True(t, slices.IsSorted(all))
	assert.NotContains(t, all, policy.ReasonNone)
	assert.Equal(t, "invalid", policy.Reason(len(names)).String())
	assert.Equal(t, "invalid", policy.Reason(255).String())
}

func TestReasonText(t *testing.T) {
	for _, want := range append(policy.Reasons(), policy.ReasonNone) {
		text, err := want.MarshalText()
		require.NoError(t, err)
		got := policy.Reason(255)
		require.NoError(t, got.UnmarshalText(text))
		assert.Equal(t, want, got)
	}
	got := policy.ReasonWaited
	for _, bad := range []string{"", "invalid", "Waited", "waited "} {
		require.ErrorContains(t, got.UnmarshalText([]byte(bad)), `readsplit: reason "`+bad+`"`)
		assert.Equal(t, policy.ReasonWaited, got)
	}
	_, err := policy.Reason(200).MarshalText()
	require.ErrorContains(t, err, "readsplit: reason 200")

	text, err := json.Marshal(policy.Decision{Target: policy.ToReplica, Replica: 1, Reason: policy.ReasonCaughtUp})
	require.NoError(t, err)
	assert.JSONEq(t, `{"Target":"replica","Replica":1,"Reason":"caught_up","Wait":0}`, string(text))
}

// Only what can be said against one replica may be the answer of a policy.
func TestObjections(t *testing.T) {
	var got []string
	for _, r := range append(policy.Reasons(), policy.ReasonNone, 255) {
		if r.Objection() {
			got = append(got, r.String())
		}
	}
	assert.Equal(t, []string{
		"unsure", "other_history", "position_pending", "sticky_window", "rest_of_request", "held_elsewhere", "objected",
		"not_in_group", "reserved", "drained", "failed_this_read", "not_a_standby", "logical", "down", "no_news", "old_news", "ejected", "balanced", "unproven_history",
		"lag_unknown", "no_position", "behind_bytes", "lagging", "slow_start", "behind_session",
	}, got)
}

func TestNames(t *testing.T) {
	assert.Equal(t, []string{"primary", "replica", "wait", "refuse", "invalid"}, texts(policy.ToPrimary, policy.ToReplica, policy.Wait, policy.Refuse, 77))
	assert.Equal(t, []string{"unknown", "read", "locking_read", "write", "invalid"}, texts(policy.Unknown, policy.Read, policy.LockingRead, policy.Write, 77))
	assert.Equal(t, []string{"normal", "fresh", "use_replica", "stale", "any_replica", "invalid"}, texts(policy.Normal, policy.Fresh, policy.UseReplica, policy.Stale, policy.AnyReplica, 77))
	assert.Equal(t, []string{"unknown", "standby", "primary", "foreign", "logical", "invalid"}, texts(policy.RoleUnknown, policy.RoleStandby, policy.RolePrimary, policy.RoleForeign, policy.RoleLogical, 77))
}

func texts[T interface{ String() string }](values ...T) []string {
	var out []string
	for _, v := range values {
		out = append(out, v.String())
	}
	return out
}

// A reason without words would leave an error, and whoever reads it, without any.
func TestEveryReasonHasASentence(t *testing.T) {
	seen := map[string]policy.Reason{}
	for _, r := range append(policy.Reasons(), policy.ReasonNone) {
		s := r.Sentence()
		assert.Regexp(t, `^[A-Z][^|\n]*\.$`, s, "%v: one sentence, fit for a table", r)
		assert.NotContains(t, seen, s, "%v", r)
		seen[s] = r
		assert.Regexp(t, `^[a-zA-Z][^|\n]*[^.]$`, r.Because(), "%v: the end of a sentence", r)
		if remedy := r.Remedy(); remedy != "" {
			assert.Regexp(t, `^[A-Z][^|\n]*\.$`, remedy, "%v", r)
		}
	}
	assert.Equal(t, "The reason is not of this version.", policy.Reason(255).Sentence())
	assert.Empty(t, policy.Reason(255).Remedy())
}
