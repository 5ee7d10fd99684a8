package retry_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/retry"
)

var update = flag.Bool("update", false, "write what the verdicts are now into the table")

const sqlstates = "testdata/sqlstates.txt"

// Every SQLSTATE that PostgreSQL 15 to 18 has, with its verdict as a read and its outcome as a write: a change of either is
// a line in a diff, and a code that a new server brings is judged on purpose.
func TestEverySQLSTATE(t *testing.T) {
	text, err := os.ReadFile(sqlstates)
	require.NoError(t, err)
	var now strings.Builder
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 || strings.HasPrefix(line, "#") {
			now.WriteString(line)
			continue
		}
		code, name := f[0], f[1]
		require.Len(t, code, 5)
		require.False(t, seen[code], "%s twice", code)
		seen[code] = true
		now.WriteString(sqlstateLine(code, name))
	}
	assert.Greater(t, len(seen), 250)
	if *update {
		require.NoError(t, os.WriteFile(sqlstates, []byte(now.String()), 0o600))
		return
	}
	assert.Equal(t, string(text), now.String(), "go test ./retry -run TestEverySQLSTATE -update, and read the diff")
}

func sqlstateLine(code, name string) string {
	v := retry.OfRead(pg(code, name))
	said := fmt.Sprintf("%s %s", v.Action, v.Cause)
	if v.CountsAsWrite {
		said += " counts_as_write"
	}
	if v.ServerSuspect {
		said += " server_suspect"
	}
	return fmt.Sprintf("%s  %-47s %-46s %s\n", code, name, said, retry.OfWrite(pg(code, name)))
}
