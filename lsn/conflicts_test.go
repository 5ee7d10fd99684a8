package lsn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/testenv"
)

func TestParseConflicts(t *testing.T) {
	got, err := lsn.ParseConflicts("x1 1 2 3 4 5 6")
	require.NoError(t, err)
	assert.Equal(t, lsn.Conflicts{Tablespace: 1, Lock: 2, Snapshot: 3, BufferPin: 4, Deadlock: 5, Slot: 6}, got)
	for _, text := range []string{"", "x1", "x1 1 2 3 4 5", "x1 1 2 3 4 5 6 7", "x2 1 2 3 4 5 6", "x1  2 3 4 5 6"} {
		_, err := lsn.ParseConflicts(text)
		assert.Error(t, err, text)
	}
	for i := 1; i <= 6; i++ {
		for _, bad := range []string{"-", "-1", "+1", "x", "1.0", "9223372036854775808"} {
			f := strings.Fields("x1 1 2 3 4 5 6")
			f[i] = bad
			_, err := lsn.ParseConflicts(strings.Join(f, " "))
			assert.ErrorContains(t, err, fmt.Sprintf("field %d is %q", i, bad))
		}
	}
}

// checkConflicts asks both servers: where nothing was cancelled all is 0.
func checkConflicts(t *testing.T, c *testenv.Cluster, options string) {
	for _, s := range c.Servers() {
		got, err := lsn.ParseConflicts(value[string](t, connect(t, s, options), lsn.ConflictsSQL))
		require.NoError(t, err)
		assert.Zero(t, got, s.Name())
	}
}
