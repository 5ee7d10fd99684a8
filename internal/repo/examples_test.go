package repo

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// overviewLines is how long the overview of the root package may be, as go doc prints
// it: what is longer is not read, and is a page of docs.
const overviewLines = 90

func TestOverviewIsShort(t *testing.T) {
	text := parse(t, ".").Doc
	require.NotEmpty(t, text)
	require.LessOrEqual(t, strings.Count(text, "\n"), overviewLines, "lines of the root package's overview")
}

// withoutExample are the constructors, options and marks that no executed Example
// calls, and why none has to.
var withoutExample = map[string]string{}

// publicPackages are the folders that pkg.go.dev shows, those of modules of their own
// included.
func publicPackages() (dirs []string) {
	for dir := range imports {
		if !strings.Contains("/"+dir+"/", "/internal/") && !strings.Contains("/"+dir+"/", "/cmd/") {
			dirs = append(dirs, dir)
		}
	}
	dirs = append(dirs, "otel", "session/redisstore", "session/grpcsession")
	slices.Sort(dirs)
	return dirs
}

// TestConstructorsHaveExamples: whoever looks up how something is made finds a program
// that is compiled and run. A constructor returns a type of its own package, or begins
// with New; options and marks count like them.
func TestConstructorsHaveExamples(t *testing.T) {
	known := map[string]bool{}
	for _, dir := range publicPackages() {
		shown := calledByExamples(t, dir)
		for _, f := range constructors(parse(t, dir)) {
			name := strings.Replace(dir, ".", "readsplit", 1) + "." + f
			known[name] = true
			why, listed := withoutExample[name]
			switch {
			case listed && shown[f]:
				t.Errorf("%s has an Example: take it out of withoutExample", name)
			case listed:
				assert.NotEmpty(t, why, name)
			case !shown[f]:
				t.Errorf("no Example with an Output calls %s: write one, or say in withoutExample why none is needed", name)
			}
		}
	}
	for name := range withoutExample {
		assert.True(t, known[name], "withoutExample names %s, which is no constructor", name)
	}
}

// constructors are the functions of a package by which its values are made, and the
// marks of a context or an endpoint.
func constructors(p *doc.Package) (names []string) {
	funcs := slices.Clone(p.Funcs)
	for _, typ := range p.Types {
		funcs = append(funcs, typ.Funcs...) // go/doc has those here that return the type
		for _, f := range typ.Funcs {
			names = append(names, f.Name)
		}
	}
	for _, f := range funcs {
		if strings.HasPrefix(f.Name, "New") || marks(f.Decl.Type) {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// marks reports whether a function takes and returns a context, or an endpoint.
func marks(f *ast.FuncType) bool {
	if f.Results == nil || len(f.Results.List) == 0 {
		return false
	}
	named := func(e ast.Expr) string {
		if s, ok := e.(*ast.SelectorExpr); ok {
			return s.Sel.Name
		}
		return ""
	}
	result := named(f.Results.List[0].Type)
	if result != "Context" && result != "Handler" {
		return false
	}
	return slices.ContainsFunc(f.Params.List, func(p *ast.Field) bool { return named(p.Type) == result })
}

// calledByExamples are the functions of a package that its executed Examples call.
func calledByExamples(t *testing.T, dir string) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", dir, "*_test.go"))
	require.NoError(t, err)
	fset := token.NewFileSet()
	called := map[string]bool{}
	for _, path := range paths {
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, e := range doc.Examples(f) {
			if e.Output == "" && !e.EmptyOutput {
				t.Errorf("%s: Example%s is compiled and not run: give it an Output", path, e.Name)
				continue
			}
			own := alias(f, dir)
			ast.Inspect(e.Code, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == own {
						called[s.Sel.Name] = true
					}
				}
				return true
			})
		}
	}
	return called
}

// alias is by which name a test file has the package of its folder.
func alias(f *ast.File, dir string) string {
	path := strings.TrimSuffix(module+"/"+dir, "/.")
	for _, spec := range f.Imports {
		if strings.Trim(spec.Path.Value, `"`) == path && spec.Name != nil {
			return spec.Name.Name
		}
	}
	return filepath.Base(path)
}

var _ = os.Stat
