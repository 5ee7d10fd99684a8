package sqlclass_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/sqlclass"
)

// statements reads a file of testdata, where a line of ==== separates texts.
func statements(t testing.TB, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n====\n")
}

// TestStatementFiles classifies the texts of testdata. The files hold statements
// that real servers can be asked about too; testdata/schema.sql has their tables.
// What is in read_17.sql needs PostgreSQL 17, the rest runs on 15.
func TestStatementFiles(t *testing.T) {
	files := []struct {
		name     string
		class    sqlclass.Class
		unlisted bool
	}{
		{"read.sql", sqlclass.Read, false},
		{"read_17.sql", sqlclass.Read, false},
		{"locking_read.sql", sqlclass.LockingRead, false},
		{"write.sql", sqlclass.Write, false},
		{"unknown.sql", sqlclass.Unknown, false},
		{"unlisted.sql", sqlclass.Unknown, true},
	}
	total := 0
	for _, f := range files {
		for _, sql := range statements(t, f.name) {
			total++
			info := sqlclass.Classify(sqlclass.PostgreSQL, sql)
			assert.Equal(t, f.class, info.Class, "%s: %s", f.name, sql)
			assert.Equal(t, f.unlisted, info.Flags.Has(sqlclass.UnlistedCalls), "%s, unlisted calls: %s", f.name, sql)
		}
	}
	assert.GreaterOrEqual(t, total, 300)
}
