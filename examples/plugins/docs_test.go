package plugins

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPage holds docs/plugins.md to this package: each block of code stands in it
// word for word, each test that it names is there, and each version is the one
// that was tested.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "plugins.md"))
	require.NoError(t, err)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var code strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		code.Write(text)
	}

	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, blocks, 3)
	for _, b := range blocks {
		require.Contains(t, code.String(), b[1])
	}
	tests := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, tests)
	for _, name := range tests {
		require.Contains(t, code.String(), "func "+name[1]+"(t *testing.T)")
	}

	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| (\S* ?\S+) \| (\d+\.\d+\.\d+) \|`).FindAllStringSubmatch(string(page), -1)
	require.Len(t, rows, 11)
	for _, row := range rows {
		path := row[1][strings.LastIndex(row[1], " ")+1:]
		require.Regexp(t, regexp.QuoteMeta(path)+" v"+regexp.QuoteMeta(row[2])+`\b`, string(mod))
	}
}
