package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/doctor"
)

// TestDocs holds docs/doctor.md to what the doctor says: what stands behind a comment
// that names a file of testdata is that file, and the list of findings is the code's.
func TestDocs(t *testing.T) {
	file := filepath.Join("..", "docs", "doctor.md")
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	doc := string(b)

	var kinds strings.Builder
	kinds.WriteString("| finding | why it matters |\n|---|---|\n")
	for _, k := range doctor.Kinds() {
		fmt.Fprintf(&kinds, "| `%s` | %s |\n", k.ID, k.Why)
	}
	want := regexp.MustCompile(`(?s)(<!-- findings -->\n\n).*?\n(\n<!-- end -->)`).ReplaceAllString(doc, "${1}"+kinds.String()+"${2}")
	shown := 0
	block := regexp.MustCompile("(?s)(<!-- ([a-z-]+)\\.txt -->\n\n```text\n).*?```")
	want = block.ReplaceAllStringFunc(want, func(old string) string {
		m := block.FindStringSubmatch(old)
		text, err := os.ReadFile(filepath.Join("testdata", m[2]+".txt"))
		require.NoError(t, err)
		shown++
		return m[1] + string(text) + "```"
	})
	assert.GreaterOrEqual(t, shown, 11, "a healthy topology and ten broken ones")
	assert.Equal(t, 1, strings.Count(want, kinds.String()), "the list of findings has no place")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		doc = want
	}
	assert.True(t, want == doc, "docs/doctor.md does not say what the doctor says; if that is meant, run twice: go test ./doctor -update")
}
