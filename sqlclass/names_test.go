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

// TestNameTables checks what the index relies on: equal widths, bytes of words alone.
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
				for _, c := range []byte(name) {
					require.Equal(t, c, folded[c], "%s: %s", title, name)
				}
			}
			total += len(names)
		}
		assert.Positive(t, total, title)
	}
}

// TestNameIndex checks that a name is found on its lists and on no other one, in any
// case, and that one that is much like it is not found.
func TestNameIndex(t *testing.T) {
	for title, x := range map[string]*nameIndex{"PostgreSQL": postgresNames, "SQL Server": transactNames} {
		want := map[string]nameKinds{}
		for _, l := range x.lists {
			for _, all := range l.names {
				for _, name := range strings.Fields(all) {
					want[name] |= l.kinds
				}
			}
		}
		assert.Len(t, x.entries, len(want), title)
		assert.Less(t, 2*len(want), len(x.places), title)
		looked, most := 0, 0
		for name, kinds := range want {
			upper := strings.ToUpper(name)
			require.Equal(t, kinds, x.of(keyOf(name), name), "%s: %s", title, name)
			require.Equal(t, kinds, x.of(keyOf(upper), upper), "%s: %s", title, name)
			for _, other := range []string{
				name + "x", "x" + name, name[1:], name[:len(name)-1], name[1:] + "x", "x" + name[1:], "x" + name[:len(name)-1],
				name + "~", "~" + name, "~" + name[1:], name[:len(name)-1] + "~", "\x00" + name, strings.Repeat(name, 300),
			} {
				require.Equal(t, want[other], x.of(keyOf(other), other), "%s: %s", title, other)
			}
			n := placesLookedAt(x, name)
			looked, most = looked+n, max(most, n)
		}
		assert.Less(t, looked, 2*len(want), title)
		assert.Less(t, most, 20, title)
		assert.Zero(t, x.of(0, ""), title)
		assert.Zero(t, x.of(0, "#"), title)
	}
}

func placesLookedAt(x *nameIndex, name string) int {
	place, _ := x.find(keyOf(name), name)
	return int((place-keyOf(name).hash(len(name)))%uint64(len(x.places))) + 1
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
	known := map[string]keyword{}
	for _, words := range [][]wordEntry{sharedWords, transactWords} {
		for _, e := range words {
			require.Equal(t, kwNone, known[e.word], e.word)
			known[e.word] = e.kw
		}
	}
	for word, kw := range known {
		require.Equal(t, kw, keywordOf(SQLServer, strings.ToUpper(word)), word)
		for _, other := range []string{word, "x" + word, word + "x", word[1:] + "x", "x" + word[1:], "é" + word[1:], word + "\x00", `"` + word} {
			require.Equal(t, known[other], keywordOf(SQLServer, other), other)
		}
	}
	assert.Equal(t, kwNone, keywordOf(PostgreSQL, "updlock"))
	assert.Equal(t, kwLockHint, keywordOf(SQLServer, "UpdLock"))
	for _, word := range []string{"", "a", "selec", "selects", "ſelect", "_select", "Übersicht"} {
		assert.Equal(t, kwNone, keywordOf(SQLServer, word), word)
	}
}

// TestKeyOfAnotherWord: what is a word to SQL Server and none to the look-up of keywords
// must not be looked up by the word before it.
func TestKeyOfAnotherWord(t *testing.T) {
	assert.Equal(t, Read, Classify(SQLServer, "SELECT t.into, $rid FROM t").Class)
	assert.Equal(t, Read, Classify(SQLServer, "SELECT t.exec, $rid FROM t").Class)
}

func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "_": false, "_commit": false, "synchronous_": false, "synchronous commit": false,
		"a_b synchronous_commits": true, "SYNCHRONOUS_COMMIT": true, "pg_setting": false, "_pg_settings": true, "Pg_Settings": true, "x.synchronous_commit = off": true,
	} {
		assert.Equal(t, want, mentions(text, asyncSettings), text)
	}
}
