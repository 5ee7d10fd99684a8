package repo

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// overviewLines is how long the overview of the root package may be, in lines of its
// source: what is longer is not read, and belongs on a page of docs.
const overviewLines = 90

func TestOverviewIsShort(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "doc.go"), nil, parser.ParseComments)
	require.NoError(t, err)
	text := f.Doc.Text()
	require.NotEmpty(t, text)
	require.LessOrEqual(t, strings.Count(text, "\n"), overviewLines, "lines of the root package's overview")

	// A [Name] that go doc does not find is printed as it stands, brackets and all.
	root := parse(t, ".")
	known := map[string]bool{}
	for _, f := range root.Funcs {
		known[f.Name] = true
	}
	for _, typ := range root.Types {
		known[typ.Name] = true
		for _, f := range typ.Funcs {
			known[f.Name] = true
		}
		for _, m := range typ.Methods {
			known[typ.Name+"."+m.Name] = true
		}
	}
	for _, v := range root.Vars {
		for _, n := range v.Names {
			known[n] = true
		}
	}
	for _, l := range regexp.MustCompile(`\[([A-Z][A-Za-z.]*)\]`).FindAllStringSubmatch(text, -1) {
		assert.True(t, known[l[1]], "the overview links to [%s], which is none of the package's names", l[1])
	}
	for _, l := range regexp.MustCompile(`\[(github\.com/readsplit/readsplit[a-z/]*)\]`).FindAllStringSubmatch(text, -1) {
		assert.Contains(t, publicPackages(), strings.TrimPrefix(l[1], module+"/"), "the overview links to %s", l[1])
	}
}

// withoutExample are the constructors, options and marks that no Example calls, by why
// none has to.
var withoutExample = map[string][]string{
	"a list of all values":                                         {"doctor.Kinds", "retry.Causes", "retry.ConflictKinds"},
	"Config.TraceResolverMode puts it before GORM's logger":        {"dbresolver.NewResolverModeLogger"},
	"used as RoundRobinPolicy is":                                  {"dbresolver.StrictRoundRobinPolicy"},
	"Config.Discover binds its source itself":                      {"discover.Bound"},
	"one of the options of Start, each of which is a Config's too": {"testenv.BinDir", "testenv.Dir"},
	"for whoever asks servers instead of the plugin; as ParseCapture does, it reads an answer to a statement of the package": {
		"lsn.Clock", "lsn.ParseBriefCheck", "lsn.ParseCheck", "lsn.ParseConflicts", "lsn.ParseConnect", "lsn.ParseReplay", "lsn.ParseRole",
		"lsn.ParseSample", "lsn.ParseSubscription", "lsn.ParseSQLServerLSN", "lsn.ParseSQLServerMark", "lsn.ParseSQLServerRun", "lsn.ParseSQLServerState",
		"lsn.SQLServerMarked", "lsn.SQLServerSample", "lsn.SQLServerSelf",
	},
}

// notRun are Examples that are compiled alone, and why they cannot be run.
var notRun = map[string]string{
	"explain/explaintest.MayUseReplica": "needs the *testing.T of a test",
	"policy/policytest.Balancer":        "needs the *testing.T of a test",
	"policy/policytest.Policy":          "needs the *testing.T of a test",
	"session/storetest.Run":             "needs the *testing.T of a test",
	"testenv.Start":                     "needs the *testing.T of a test; ExampleNew is the same for programs",
	"testenv/tdsenv.Start":              "needs the *testing.T of a test; ExampleNew is the same for programs",
	"otel.":                             "serves until the program ends; TestTenLines runs what it calls",
}

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

// TestConstructorsHaveExamples: whoever looks up how something is made finds a piece of a
// program that is compiled and, but for the few in notRun, run. A constructor returns a type of its own package, or begins
// with New; options and marks count like them.
func TestConstructorsHaveExamples(t *testing.T) {
	known, excused := map[string]bool{}, map[string]bool{}
	for _, names := range withoutExample {
		for _, name := range names {
			excused[name] = true
		}
	}
	for _, dir := range publicPackages() {
		shown := calledByExamples(t, dir, known)
		for _, f := range constructors(parse(t, dir)) {
			name := strings.Replace(dir, ".", "readsplit", 1) + "." + f
			known[name] = true
			switch {
			case excused[name] && shown[f]:
				t.Errorf("%s has an Example: take it out of withoutExample", name)
			case !excused[name] && !shown[f]:
				t.Errorf("no Example calls %s: write one, or say in withoutExample why none is needed", name)
			}
		}
	}
	for name := range excused {
		assert.True(t, known[name], "withoutExample names %s, which is no constructor", name)
	}
	for name := range notRun {
		assert.True(t, known["Example "+name], "notRun names %s, which is no Example, or one that is run", name)
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

// calledByExamples are the functions of a package that its Examples call. Each of them is
// executed, or is in notRun; which are is noted in known.
func calledByExamples(t *testing.T, dir string, known map[string]bool) map[string]bool {
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
				known["Example "+dir+"."+e.Name] = true
				if notRun[dir+"."+e.Name] == "" {
					t.Errorf("%s: Example%s is compiled and not run: give it an Output, or say in notRun why it has none", path, e.Name)
				}
			}
			name, _, _ := strings.Cut(e.Name, "_")
			called[name] = true // also where a helper calls it
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
