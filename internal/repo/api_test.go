package repo

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the exported API to testdata")

// TestExportedAPI compares what each package exports with testdata/api, so that
// growth shows in a review. `go test ./internal/repo -update` writes it anew.
func TestExportedAPI(t *testing.T) {
	for dir := range imports {
		if strings.HasPrefix(dir, "internal") || strings.Contains("/"+dir, "/cmd/") {
			continue
		}
		t.Run(strings.ReplaceAll(dir, "/", "_"), func(t *testing.T) {
			got := exported(t, dir)
			file := filepath.Join("testdata", "api", strings.ReplaceAll(strings.Replace(dir, ".", "readsplit", 1), "/", "_")+".txt")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, got, 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got), "the exported API of %s changed; if that is meant, run: go test ./internal/repo -update", dir)
		})
	}
}

// TestBudgetOfNames keeps the root package small enough to be learned.
func TestBudgetOfNames(t *testing.T) {
	p := parse(t, ".")
	names, methods := 0, 0
	count := func(list []string) {
		for _, n := range list {
			if token.IsExported(n) {
				names++
			}
		}
	}
	values := func(vs []*doc.Value) {
		for _, v := range vs {
			count(v.Names)
		}
	}
	values(p.Consts)
	values(p.Vars)
	for _, f := range p.Funcs {
		count([]string{f.Name})
	}
	for _, typ := range p.Types {
		count([]string{typ.Name})
		values(typ.Consts)
		values(typ.Vars)
		for _, f := range typ.Funcs {
			count([]string{f.Name})
		}
		if typ.Name == "Plugin" {
			methods = len(typ.Methods)
		}
	}
	require.LessOrEqual(t, names, 40, "exported names of the root package")
	require.LessOrEqual(t, methods, 12, "exported methods of Plugin")
}

func parse(t *testing.T, dir string) *doc.Package {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	paths, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
	require.NoError(t, err)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, 0)
		require.NoError(t, err)
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, module+"/"+dir)
	require.NoError(t, err)
	return p
}

// exported prints the exported declarations of a package without comments and
// bodies, sorted.
func exported(t *testing.T, dir string) []byte {
	t.Helper()
	fset := token.NewFileSet()
	var decls []string
	paths, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
	require.NoError(t, err)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, 0)
		require.NoError(t, err)
		ast.FileExports(f)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				d.Body = nil
			case *ast.GenDecl:
				if d.Tok == token.IMPORT {
					continue
				}
			}
			var b bytes.Buffer
			require.NoError(t, (&printer.Config{Mode: printer.UseSpaces, Tabwidth: 4}).Fprint(&b, fset, d))
			decls = append(decls, collapse(b.String()))
		}
	}
	slices.Sort(decls)
	return []byte(fmt.Sprintf("package %s\n\n%s\n", dir, strings.Join(decls, "\n\n")))
}

// collapse removes the empty lines that comments leave behind.
func collapse(s string) string {
	lines := strings.Split(s, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" }), "\n")
}
