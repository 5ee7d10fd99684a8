package repo

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEverythingIsExplained: each exported type, function and method of the public
// packages has a comment, those that satisfy an interface too.
func TestEverythingIsExplained(t *testing.T) {
	for _, dir := range publicPackages() {
		paths, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		require.NoError(t, err)
		fset := token.NewFileSet()
		var files []*ast.File
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
			require.NoError(t, err)
			files = append(files, f)
		}
		p, err := doc.NewFromFiles(fset, files, module+"/"+dir)
		require.NoError(t, err)
		explained := func(name, text string) {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s.%s has no comment", dir, name)
			}
		}
		explained("(package)", p.Doc)
		funcs := p.Funcs
		for _, typ := range p.Types {
			explained(typ.Name, typ.Doc)
			funcs = append(funcs, typ.Funcs...)
			for _, m := range typ.Methods {
				explained(typ.Name+"."+m.Name, m.Doc)
			}
		}
		for _, f := range funcs {
			explained(f.Name, f.Doc)
		}
	}
}
