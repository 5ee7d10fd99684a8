package readonlyguard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The guard knows which of gorm's own functions begin a write with a read, a BEGIN or a SAVEPOINT. This test reads
// gorm's sources: a version that has another such function, or none of these, must be looked at.
func TestGormHasNoOtherWritingEntryPoints(t *testing.T) {
	callers := callersInGorm(t)

	assert.Equal(t, []string{
		"(*Association).Find", "(*DB).FindInBatches", "(*DB).FirstOrCreate", "(*DB).FirstOrInit",
		"callbacks.preload",
		"execG.Find", "execG.Scan", "setCreateOrUpdateG.handleAssociationForOwners",
	}, callers["Find"], "who calls Find: does it write afterwards? Then it belongs into fromWritingFind")
	assert.Equal(t, []string{"execG.First"}, callers["First"], "who calls First: fromWritingFind is not asked for it")
	assert.Equal(t, []string{"execG.Take"}, callers["Take"], "who calls Take: fromWritingFind is not asked for it")
	assert.Equal(t, []string{"execG.Last"}, callers["Last"], "who calls Last: fromWritingFind is not asked for it")
	assert.Equal(t, []string{"(*Association).Count", "chainG.Count"}, callers["Count"], "who calls Count: fromWritingFind is not asked for it")
	assert.Equal(t, []string{"(*DB).CreateInBatches", "setCreateOrUpdateG.handleAssociation"}, callers["Transaction"],
		"who calls Transaction: all of gorm's own callers are taken for writers")
	assert.Equal(t, []string{"(*DB).Transaction", "callbacks.BeginTransaction"}, callers["Begin"], "who calls Begin")
	assert.Equal(t, []string{"(*DB).Transaction"}, callers["SavePoint"], "who calls SavePoint of a DB")
}

// The names that the stack is searched for are those that the sources have.
func TestNamesOfGormFunctions(t *testing.T) {
	assert.Equal(t, "gorm.io/gorm.", gormPackage)
	assert.Equal(t, "gorm.io/gorm/", gormTree)
	assert.Equal(t, "gorm.io/gorm.(*DB).FirstOrCreate", fnFirstOrCreate)
	assert.Equal(t, "gorm.io/gorm/callbacks.BeginTransaction", fnDefaultTx)
}

// callersInGorm maps the names of methods to the functions of gorm, its callbacks and its migrator that call them.
func callersInGorm(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "gorm.io/gorm", "gorm.io/gorm/callbacks").Output()
	require.NoError(t, err)
	callers := map[string][]string{}
	for _, dir := range strings.Fields(string(out)) {
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, file := range files {
			if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file.Name()), nil, 0)
			require.NoError(t, err)
			for _, decl := range parsed.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok {
					note(callers, fn, parsed.Name.Name)
				}
			}
		}
	}
	for name := range callers {
		slices.Sort(callers[name])
		callers[name] = slices.Compact(callers[name])
	}
	return callers
}

func note(callers map[string][]string, fn *ast.FuncDecl, pkg string) {
	ast.Inspect(fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && !isOther(sel) {
			callers[sel.Sel.Name] = append(callers[sel.Sel.Name], qualified(fn, pkg))
		}
		return true
	})
}

// isOther tells the dialector's SavePoint, which gorm's SavePoint calls, and strings.Count from the methods of a DB.
func isOther(sel *ast.SelectorExpr) bool {
	x, ok := sel.X.(*ast.Ident)
	return ok && (x.Name == "savePointer" || x.Name == "strings")
}

func qualified(fn *ast.FuncDecl, pkg string) string {
	if fn.Recv == nil {
		if pkg == "gorm" {
			return fn.Name.Name
		}
		return pkg + "." + fn.Name.Name
	}
	star := false
	typ := fn.Recv.List[0].Type
	if s, ok := typ.(*ast.StarExpr); ok {
		star, typ = true, s.X
	}
	if g, ok := typ.(*ast.IndexExpr); ok {
		typ = g.X
	}
	name := typ.(*ast.Ident).Name
	if star {
		name = "(*" + name + ")"
	}
	return name + "." + fn.Name.Name
}
