package repo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/policy"
)

// TestReasonsPage holds docs/reasons.md equal to the sentences that errors,
// explanations and pages use. `go test ./internal/repo -update` writes it anew.
func TestReasonsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Reasons

Every decision has one reason of this closed list. The label is the same word in ` + "`DecisionOf`, `Status().Reasons`" + `, GORM's log (` + "`Config.LogServers`" + `), events of package observe, metrics, the page of package status, and errors; it never changes its meaning. The sentence is what [` + "`readsplit.Explain`" + `](operations.md#why-did-this-read-go-to-the-primary) and errors say. This page is made from package policy.

| reason | what it means | where there are many |
|---|---|---|
`)
	for _, r := range policy.Reasons() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r, r.Sentence(), r.Remedy())
	}
	file := filepath.Join("..", "..", "docs", "reasons.md")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(have), "docs/reasons.md is not what policy says; run: go test ./internal/repo -update")
}
