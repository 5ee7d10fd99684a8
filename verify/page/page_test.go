package page_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/verify/check"
	"github.com/readsplit/readsplit/verify/history"
	"github.com/readsplit/readsplit/verify/page"
)

func finding() page.Finding {
	return page.Finding{
		Header: history.Header{Seed: 7, Plugin: "dbresolver", Episode: "replicas", Server: "15.18", Command: "verify -seed 7"},
		Violation: check.Violation{Rule: check.OwnWrites, Text: "r1 shows version 0, and not yet version 1 (<a>)", Timeline: []history.Event{
			{Kind: history.KindFault, Fault: "pause", On: "replica1", Invoke: 0, Return: 9_000_000},
			{Kind: history.KindWrite, Process: 1, Client: 2, Session: "s", Way: "exec", Invoke: 1_000_000, Return: 2_000_000, Result: history.OK, Writes: []history.Write{{Key: "r1", Value: "<a>", Version: 1}}},
			{Kind: history.KindRead, Process: 1, Client: 2, Session: "s", Way: "take", Invoke: 3_000_000, Return: 4_000_000, Result: history.OK, Reads: []history.Read{{Key: "r1"}}, Server: "replica1"},
		}},
	}
}

func TestText(t *testing.T) {
	var b strings.Builder
	require.NoError(t, page.Text(&b, finding()))
	assert.Equal(t, `VIOLATION of read-your-writes: r1 shows version 0, and not yet version 1 (<a>)
  dbresolver, episode replicas, seed 7, PostgreSQL 15.18; again: verify -seed 7
      -1.000 ..      8.000  fault on replica1        pause
       0.000 ..      1.000  p1 c2 s                  write by exec r1=<a>@1: ok
       2.000 ..      3.000  p1 c2 s                  read by take r1=@0: ok, replica1
`, b.String())
}

func TestHTML(t *testing.T) {
	var b strings.Builder
	require.NoError(t, page.HTML(&b, []page.Finding{finding()}))
	text := b.String()
	assert.Contains(t, text, "<h1>1 violations</h1>")
	assert.Contains(t, text, "r1 shows version 0, and not yet version 1 (&lt;a&gt;)", "values are text, not markup")
	assert.Equal(t, 3, strings.Count(text, `<div class="bar `))
	assert.NotContains(t, text, "ZgotmplZ", "nothing that the template did not trust")
	assert.Contains(t, text, "<code>verify -seed 7</code>")
}
