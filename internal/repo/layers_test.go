package repo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLayersPage holds the table of CONTRIBUTING.md equal to the import table, which
// TestImports holds the code to. `go test ./internal/repo -update` writes it anew.
func TestLayersPage(t *testing.T) {
	const begin, end = "<!-- layers: made by go test ./internal/repo -update -->\n", "<!-- layers end -->"
	var b strings.Builder
	b.WriteString("| layer | package | may import, of this module | of others |\n|---|---|---|---|\n")
	layers := map[string]int{}
	for dir := range imports {
		layers[dir] = layer(dir)
	}
	dirs := make([]string, 0, len(layers))
	for dir := range layers {
		if !strings.Contains(dir, "tdsenv/internal/") && dir != "internal/repo" && dir != "internal/corpus" {
			dirs = append(dirs, dir)
		}
	}
	slices.SortFunc(dirs, func(a, b string) int {
		if layers[a] != layers[b] {
			return layers[a] - layers[b]
		}
		return strings.Compare(a, b)
	})
	for _, dir := range dirs {
		var ours, others []string
		for _, i := range imports[dir] {
			switch {
			case i == module:
				ours = append(ours, "`readsplit`")
			case strings.Contains(i, "."):
				others = append(others, "`"+i+"`")
			case !strings.HasPrefix(i, dir+"/internal/"):
				ours = append(ours, "`"+i+"`")
			}
		}
		fmt.Fprintf(&b, "| %d | `%s` | %s | %s |\n", layers[dir], strings.Replace(dir, ".", "readsplit", 1), strings.Join(ours, ", "), strings.Join(others, ", "))
	}

	file := filepath.Join("..", "..", "CONTRIBUTING.md")
	page := read(t, "CONTRIBUTING.md")
	before, rest, found := strings.Cut(page, begin)
	require.True(t, found, "CONTRIBUTING.md has no table of layers")
	_, after, found := strings.Cut(rest, end)
	require.True(t, found, "the table of layers has no end")
	made := before + begin + b.String() + end + after
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(made), 0o644))
		page = made
	}
	require.Equal(t, made, page, "the table of layers is not the import table; run: go test ./internal/repo -update")
}

// layer is one more than that of the highest package that dir may import: whatever it is,
// it imports from below alone.
func layer(dir string) int {
	n := 0
	for _, i := range imports[dir] {
		if i == module {
			i = "."
		}
		if _, ours := imports[i]; ours {
			n = max(n, 1+layer(i))
		}
	}
	return n
}

// TestNoDriverIsCompiledIn: what an application compiles with the plugin is GORM and what
// GORM needs, whatever database it uses.
func TestNoDriverIsCompiledIn(t *testing.T) {
	for _, of := range []string{".", "./session/httpsession", "./session/jobs", "./status", "./policy", "./retry"} {
		list := exec.Command("go", "list", "-deps", of)
		list.Dir = filepath.Join("..", "..")
		list.Stderr = os.Stderr
		out, err := list.Output()
		require.NoError(t, err)
		for _, p := range strings.Fields(string(out)) {
			host, _, _ := strings.Cut(p, "/")
			if !strings.Contains(host, ".") || p == module || strings.HasPrefix(p, module+"/") {
				continue
			}
			allowed := slices.ContainsFunc([]string{"gorm.io/gorm", "github.com/jinzhu/", "golang.org/x/text/"}, func(a string) bool {
				return p == a || strings.HasPrefix(p, strings.TrimSuffix(a, "/")+"/")
			})
			assert.True(t, allowed, "%s compiles %s into applications: see docs/decisions/0006-dependencies.md", of, p)
		}
	}
}
