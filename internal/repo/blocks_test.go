package repo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// packages are what the blocks of the pages may use, by the name that they use.
var packages = map[string]string{
	"atomic":        "sync/atomic",
	"catalog":       module + "/catalog",
	"clause":        "gorm.io/gorm/clause",
	"context":       "context",
	"dbresolver":    module + "/dbresolver",
	"discover":      module + "/discover",
	"errors":        "errors",
	"explaintest":   module + "/explain/explaintest",
	"failover":      module + "/failover",
	"fmt":           "fmt",
	"gorm":          "gorm.io/gorm",
	"groups":        module + "/groups",
	"grpc":          "google.golang.org/grpc",
	"grpcsession":   module + "/session/grpcsession",
	"http":          "net/http",
	"httpsession":   module + "/session/httpsession",
	"httptest":      "net/http/httptest",
	"jobs":          module + "/session/jobs",
	"logger":        "gorm.io/gorm/logger",
	"metric":        "go.opentelemetry.io/otel/sdk/metric",
	"mssql":         "github.com/microsoft/go-mssqldb",
	"observe":       module + "/observe",
	"os":            "os",
	"overload":      module + "/overload",
	"policy":        module + "/policy",
	"postgres":      "gorm.io/driver/postgres",
	"prometheus":    "go.opentelemetry.io/otel/exporters/prometheus",
	"promhttp":      "github.com/prometheus/client_golang/prometheus/promhttp",
	"readsplit":     module,
	"readsplitotel": module + "/otel",
	"redis":         "github.com/redis/go-redis/v9",
	"redisstore":    module + "/session/redisstore",
	"require":       "github.com/stretchr/testify/require",
	"retry":         module + "/retry",
	"session":       module + "/session",
	"sql":           "database/sql",
	"sqlserver":     "gorm.io/driver/sqlserver",
	"status":        module + "/status",
	"storetest":     module + "/session/storetest",
	"tdsenv":        module + "/testenv/tdsenv",
	"testenv":       module + "/testenv",
	"testing":       "testing",
	"time":          "time",
	"url":           "net/url",
}

// block is Go code on a page.
type block struct {
	page string // such as docs/http.md
	line int
	text string
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

var fence = regexp.MustCompile("(?sm)^```go([^\n]*)\n(.*?)^```$")

// TestBlocksCompile checks the types of each block of Go on the pages, in the shape in
// which it stands there: a file, declarations, statements, an expression, or a part of a
// Config. What a page leaves out (a handle, a handler, a type of the application) stands
// in testdata/around: all.go for every page, and a file by the name of the page. A block
// that is no Go on purpose begins with "```go fragment".
func TestBlocksCompile(t *testing.T) {
	var blocks []block
	for _, page := range pages(t) {
		if page == "docs/plugins.md" {
			continue // word for word in examples/plugins, whose TestPage says so
		}
		text := read(t, page)
		for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
			b := block{page: page, line: strings.Count(text[:at[0]], "\n") + 1, text: text[at[4]:at[5]]}
			switch info := text[at[2]:at[3]]; info {
			case "":
				blocks = append(blocks, b)
			case " fragment":
			default:
				t.Errorf("%v: ```go%s: only \"fragment\" may stand there", b, info)
			}
		}
	}
	require.NotEmpty(t, blocks)
	from, err := known()
	require.NoError(t, err)
	for _, b := range blocks {
		t.Run(b.String(), func(t *testing.T) {
			around := surroundings(t, b.page, from.files)
			var problems []string
			for _, shape := range shapes {
				err := check(shape, b.text, around, from)
				if err == nil {
					return
				}
				problems = append(problems, fmt.Sprintf("as %s: %v", shape.name, err))
			}
			t.Errorf("it is no Go that compiles; if that is meant, begin it with \"```go fragment\"; if a name is missing, put it into internal/repo/testdata/around:\n%s", strings.Join(problems, "\n"))
		})
	}
}

// TestBlocksThatDoNotCompile: the check can fail.
func TestBlocksThatDoNotCompile(t *testing.T) {
	from, err := known()
	require.NoError(t, err)
	around := surroundings(t, "docs/none.md", from.files)
	for name, text := range map[string]string{
		"a field that does not exist":         `readsplit.Config{MaxLags: time.Second}`,
		"a method that does not":              `err := plugin.Drains(ctx, "pg2")`,
		"a wrong type":                        `ctx = readsplit.AtMost(ctx, "1s")`,
		"an unknown package":                  `nonsense.New()`,
		"an unknown name":                     `fmt.Println(nobodyKnowsThis)`,
		"a file with a name that nobody uses": "package main\n\nfunc main() { unused := 1 }\n",
		"no Go":                               `if {`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, shape := range shapes {
				require.Error(t, check(shape, text, around, from), shape.name)
			}
		})
	}
}

// shapes are what a block may be, as the texts before and after it.
var shapes = []struct{ name, before, after string }{
	{"a file", "", ""},
	{"declarations", "package p\n", ""},
	{"statements", "package p\nfunc _() {\n", "\n}"},
	{"statements that return an error", "package p\nfunc _() error {\n", "\n}"},
	{"an expression", "package p\nvar _ = ", ""},
	{"replicas", "package p\nvar _ = []readsplit.Replica{\n", ",\n}"},
	{"fields of a Config", "package p\nvar _ = readsplit.Config{\n", "\n}"},
}

// harmless are complaints about what a page does on purpose: it introduces a name and
// leaves its use to the reader. A file has to be right as it is.
var harmless = regexp.MustCompile(`^declared and not used|is not used$|^missing return`)

// check type-checks a block in a shape, with what stands around it.
func check(shape struct{ name, before, after string }, text string, around []ast.Decl, from imported) error {
	after := shape.after
	if strings.HasPrefix(after, ",") { // a comment may end the block, and has its comma before it
		text, after = regexp.MustCompile(`(?m)\}(\s*//.*)?$`).ReplaceAllString(strings.TrimSpace(text), "},$1"), after[1:]
	}
	f, err := parser.ParseFile(from.files, "block.go", shape.before+text+after, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	own := map[string]bool{}
	for _, d := range f.Decls {
		names(d, func(name string) { own[name] = true })
	}
	var kept []ast.Decl
	for _, d := range around {
		taken := false
		names(d, func(name string) { taken = taken || own[name] })
		if !taken {
			kept = append(kept, d)
		}
	}
	outside := &ast.File{Name: f.Name, Decls: kept}
	importPackages(f)
	importPackages(outside)
	var problems []string
	conf := types.Config{
		Importer: from,
		Error: func(err error) {
			e := err.(types.Error) //nolint:errorlint // go/types wraps nothing
			if shape.before == "" || !harmless.MatchString(e.Msg) {
				problems = append(problems, e.Error())
			}
		},
	}
	_, _ = conf.Check("p", from.files, []*ast.File{f, outside}, nil)
	if len(problems) > 0 {
		return fmt.Errorf("%s", strings.Join(problems, "; "))
	}
	return nil
}

// names tells what a declaration declares. Each of those around a block declares one.
func names(d ast.Decl, tell func(string)) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			tell(d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				tell(spec.Name.Name)
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					tell(n.Name)
				}
			}
		}
	}
}

// importPackages imports what a file selects from, if it does not import it itself.
func importPackages(f *ast.File) {
	has := map[string]bool{}
	for _, spec := range f.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		for name, p := range packages {
			has[name] = has[name] || p == path
		}
	}
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && packages[x.Name] != "" && !has[x.Name] {
				used[x.Name] = true
			}
		}
		return true
	})
	for name := range used {
		spec := &ast.ImportSpec{Name: ast.NewIdent(name), Path: &ast.BasicLit{Kind: token.STRING, Value: `"` + packages[name] + `"`}}
		f.Imports = append(f.Imports, spec)
		f.Decls = slices.Insert(f.Decls, 0, ast.Decl(&ast.GenDecl{Tok: token.IMPORT, Specs: []ast.Spec{spec}}))
	}
}

// surroundings are the declarations of testdata/around for a page; its own file comes
// first, and hides names of the one for all.
func surroundings(t *testing.T, page string, files *token.FileSet) (decls []ast.Decl) {
	t.Helper()
	seen := map[string]bool{}
	for _, file := range []string{strings.TrimSuffix(filepath.Base(page), ".md") + ".go", "all.go"} {
		path := filepath.Join("testdata", "around", file)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		hidden := map[string]bool{}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				continue
			}
			hide := false
			names(d, func(name string) { hide = hide || seen[name]; hidden[name] = true })
			if !hide {
				decls = append(decls, d)
			}
		}
		for name := range hidden {
			seen[name] = true
		}
	}
	return decls
}

// imported are the types of what blocks may import, and where all of it stands.
type imported struct {
	types.Importer
	files *token.FileSet
}

// known is read once, since that takes a run of the go command.
var known = sync.OnceValues(func() (imported, error) {
	exports, err := listExports()
	files := token.NewFileSet()
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	return imported{importer.ForCompiler(files, "gc", lookup), files}, err
})

// listExports are the files with the types of what the blocks may import, by path. They
// are compiled as this test was, which finds them in the build cache.
func listExports() (map[string]string, error) {
	args := []string{"list", "-e", "-deps", "-export", "-f", `{{if .Export}}{"Path":"{{.ImportPath}}","File":"{{.Export}}"}{{end}}`}
	if raced {
		args = append(args, "-race")
	}
	for _, path := range packages {
		args = append(args, path)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join("..", "..")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %v: %w: %s", args, err, &problems)
	}
	exports := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p struct{ Path, File string }
		if err := dec.Decode(&p); err != nil {
			return nil, err
		}
		exports[p.Path] = p.File
	}
	for name, path := range packages {
		if exports[path] == "" {
			return nil, fmt.Errorf("%s, which blocks call %s, does not compile: %s", path, name, &problems)
		}
	}
	return exports, nil
}
