package conformance_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/internal/conformance"
)

var update = flag.Bool("update", false, "write the tables of docs/conformance.md")

// The tables of the page are those of the suite, and no trap is without a test.
func TestTables(t *testing.T) {
	const page = "../../docs/conformance.md"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	tables := regexp.MustCompile(`(?s)(<!-- tables -->\n).*(<!-- end -->)`)
	require.Regexp(t, tables, string(text))
	want := tables.ReplaceAllLiteralString(string(text), "<!-- tables -->\n\n"+conformance.Tables()+"\n<!-- end -->")
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o600))
		text = []byte(want)
	}
	require.Equal(t, want, string(text), "go test ./internal/conformance -run TestTables -update")
	for line := range strings.Lines(conformance.Tables()) {
		require.NotContains(t, line, "``", "a trap without a test")
	}
}
