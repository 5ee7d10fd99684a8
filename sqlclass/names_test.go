package sqlclass

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var tables = map[string]*nameTable{
	"postgresHarmless": &postgresHarmless, "postgresWrites": &postgresWrites, "postgresSession": &postgresSession,
	"postgresRefused": &postgresRefused, "postgresReserved": &postgresReserved, "postgresKeywords": &postgresKeywords,
	"transactHarmless": &transactHarmless, "transactRefused": &transactRefused, "transactReserved": &transactReserved,
	"transactKeywords": &transactKeywords, "transactVariables": &transactVariables,
}

// TestNameTables checks what the binary search relies on: equal widths, order.
func TestNameTables(t *testing.T) {
	for title, table := range tables {
		total := 0
		for n, all := range table {
			names := strings.Fields(all)
			require.Len(t, all, len(names)*(n+1), "%s, names of %d bytes", title, n)
			require.True(t, slices.IsSorted(names), "%s, names of %d bytes", title, n)
			require.Len(t, slices.Compact(slices.Clone(names)), len(names), "%s has a name twice", title)
			for _, name := range names {
				require.Len(t, name, n, title)
				require.True(t, table.has([]byte(name)), "%s: %s", title, name)
				require.False(t, table.has([]byte(name+"~")), "%s: %s~", title, name)
				require.False(t, table.has([]byte("~"+name[1:])), "%s: ~%s", title, name[1:])
			}
			total += len(names)
		}
		assert.Positive(t, total, title)
		assert.False(t, table.has(nil))
		assert.False(t, table.has(make([]byte, 1000)))
	}
}

// TestFunctionListsAreDisjoint: a function that is harmless and refused at once
// would be what the order of the look-ups makes of it.
func TestFunctionListsAreDisjoint(t *testing.T) {
	seen := map[string]string{}
	for _, title := range []string{"postgresHarmless", "postgresWrites", "postgresSession", "postgresRefused"} {
		for _, all := range tables[title] {
			for _, name := range strings.Fields(all) {
				assert.Empty(t, seen[name], "%s is in %s too", name, title)
				seen[name] = title
			}
		}
	}
	want := map[string]string{
		"lower": "postgresHarmless", "now": "postgresHarmless", "random": "postgresHarmless",
		"gen_random_uuid": "postgresHarmless", "pg_is_in_recovery": "postgresHarmless",
		"jsonb_exists": "postgresHarmless", "starts_with": "postgresHarmless",
		"nextval": "postgresWrites", "txid_current": "postgresWrites", "pg_stat_reset": "postgresWrites",
		"set_config": "postgresSession", "setseed": "postgresSession", "pg_advisory_lock": "postgresSession",
		"currval": "postgresRefused", "pg_sleep": "postgresRefused", "pg_walfile_name": "postgresRefused",
		"query_to_xml": "postgresRefused", "pg_current_wal_lsn": "postgresRefused", "lo_get": "postgresHarmless",
		"add_tax": "", "uuid_generate_v4": "",
	}
	for name, title := range want {
		assert.Equal(t, title, seen[name], name)
	}
}

// TestKeywordTables checks that each word is found, in any case, and where the
// tables expect it.
func TestKeywordTables(t *testing.T) {
	for _, table := range [][26][]wordEntry{sharedWords, transactWords} {
		for letter, entries := range table {
			for _, e := range entries {
				require.Equal(t, byte(letter)+'a', e.word[0], e.word)
				require.Equal(t, e.kw, keywordOf(SQLServer, strings.ToUpper(e.word)), e.word)
			}
		}
	}
	assert.Equal(t, kwNone, keywordOf(PostgreSQL, "updlock"))
	assert.Equal(t, kwLockHint, keywordOf(SQLServer, "UpdLock"))
	for _, word := range []string{"", "a", "selec", "selects", "ſelect", "_select", "Übersicht"} {
		assert.Equal(t, kwNone, keywordOf(SQLServer, word), word)
	}
}

func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "_": false, "_commit": false, "synchronous_": false, "synchronous commit": false,
		"a_b synchronous_commits": true, "SYNCHRONOUS_COMMIT": true, "x.synchronous_commit = off": true,
	} {
		assert.Equal(t, want, mentions(text, "synchronous", "_commit"), text)
	}
}
