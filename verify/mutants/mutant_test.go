package mutants_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/verify/mutants"
)

// Every mutant can be laid over the code as it is now, and the result is Go.
func TestMutantsFit(t *testing.T) {
	names := map[string]bool{}
	for _, m := range mutants.All {
		t.Run(m.Name, func(t *testing.T) {
			require.False(t, names[m.Name], "the name is taken")
			names[m.Name] = true
			assert.NotEmpty(t, m.Mistake)
			laid, err := m.Overlay(filepath.Join("..", ".."), t.TempDir())
			require.NoError(t, err)
			b, err := os.ReadFile(laid)
			require.NoError(t, err)
			var overlay struct{ Replace map[string]string }
			require.NoError(t, json.Unmarshal(b, &overlay))
			require.NotEmpty(t, overlay.Replace)
			for from, to := range overlay.Replace {
				assert.True(t, filepath.IsAbs(from))
				before, err := os.ReadFile(from)
				require.NoError(t, err)
				after, err := os.ReadFile(to)
				require.NoError(t, err)
				assert.NotEqual(t, string(before), string(after))
				file, err := parser.ParseFile(token.NewFileSet(), to, after, 0)
				require.NoError(t, err)
				for _, e := range m.Edits {
					if filepath.Base(e.File) == filepath.Base(from) {
						imported(t, file, e.New)
					}
				}
			}
		})
	}
}

var qualified = regexp.MustCompile(`(?:^|[^.\w])([a-z]+)\.[A-Z]`)

// imported checks that a file imports the packages that a text names: code that is moved to
// another file takes its mutant along, but not its imports, and the mutant builds no more.
func imported(t *testing.T, file *ast.File, text string) {
	t.Helper()
	var imports []string
	for _, one := range file.Imports {
		p, err := strconv.Unquote(one.Path.Value)
		require.NoError(t, err)
		imports = append(imports, path.Base(p))
	}
	for _, match := range qualified.FindAllStringSubmatch(text, -1) {
		if slices.Contains(packages, match[1]) {
			assert.Contains(t, imports, match[1])
		}
	}
}

// packages are those that mutants name.
var packages = []string{"context", "errors", "lsn", "monitor", "observe", "policy", "retry", "session", "sqlclass", "time"}

func TestTextNotThere(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "a.go"), []byte("x x"), 0o600))
	m := mutants.Mutant{Name: "m", Edits: []mutants.Edit{{File: "a.go", Old: "x", New: "y"}}}
	_, err := m.Overlay(root, t.TempDir())
	require.EqualError(t, err, `verify: mutant m: a.go has this text 2 times, and must have it once: change the mutant as the code was changed: "x"`)
	m.Edits[0].Old = "z"
	_, err = m.Overlay(root, t.TempDir())
	require.ErrorContains(t, err, "has this text 0 times")
}
