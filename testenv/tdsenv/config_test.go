package tdsenv

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfigReportsEverything(t *testing.T) {
	_, err := New(t.Context(), Config{Nodes: 12, Databases: []string{"a", "A", "x'y"}, RoutingList: "('SQL1'", RoutingLists: map[string]string{"SQL9": "('SQL7')"}, Allow: 7})
	require.Error(t, err)
	for _, part := range []string{"readsplit: tdsenv: ", "Config.Nodes is 12", `Config.Databases has "A" twice`, `"x'y"`, "Config.RoutingList is", "Config.RoutingLists has SQL9", "names SQL7", "Config.Allow is 7"} {
		require.ErrorContains(t, err, part)
	}
}

func TestRoutingList(t *testing.T) {
	for text, want := range map[string][][]string{
		"('SQL2')":                   {{"SQL2"}},
		"(N'SQL2', 'SQL1')":          {{"SQL2"}, {"SQL1"}},
		"(('SQL2','SQL3'),'SQL1')":   {{"SQL2", "SQL3"}, {"SQL1"}},
		" ( ('SQL2') , ('SQL3') ) ":  {{"SQL2"}, {"SQL3"}},
		"":                           nil,
		"'SQL2'":                     nil,
		"('SQL2','SQL3'":             nil,
		"(('SQL2',('SQL3')),'SQL1')": nil,
		"('SQL2') x":                 nil,
		"('')":                       nil,
	} {
		groups, err := parseRoutingList(text)
		require.Equal(t, want == nil, err != nil, text)
		require.Equal(t, want, groups, text)
	}
}

func FuzzRoutingList(f *testing.F) {
	f.Add("(('SQL2','SQL3'),'SQL1')")
	f.Fuzz(func(t *testing.T, text string) {
		groups, err := parseRoutingList(text)
		require.Equal(t, err == nil, len(groups) > 0)
	})
}

// Beyond int64 and beyond what a float64 tells apart, and growing.
func TestLSN(t *testing.T) {
	l := firstLSN
	require.Equal(t, "37000000101600001", l.String())
	for range 20_000 {
		n := l.next()
		require.Equal(t, 1, n.dec().Cmp(l.dec()), "%s after %s", n, l)
		require.Equal(t, 1, n.endOfBlock().dec().Cmp(n.dec()))
		l = n
	}
}
