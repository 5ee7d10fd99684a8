package repo

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/readsplit/readsplit"

// imports says which packages of this module, and which of other modules, the
// code of each package may import. "std" needs no mention. The reason stands
// beside each rule.
var imports = map[string][]string{
	// The plugin ties everything together and is the only one that knows GORM and all parts.
	".": {"gorm.io/gorm", "catalog", "discover", "explain", "failover", "groups", "internal/conflicts", "internal/connstring", "internal/dialect", "internal/unmarked", "lsn", "monitor", "observe", "overload", "policy", "policy/latency", "readonlyguard", "retry", "session", "sqlclass"},
	// Positions know nothing else, so that everything can speak of them.
	"lsn": {},
	// The decision core is pure: positions in, a decision out.
	"policy": {"lsn"},
	// What any policy must satisfy is told in the terms of policies alone.
	"policy/policytest": {"lsn", "policy"},
	// What sets of replicas are for, and what became of their reads.
	"groups": {"policy"},
	// An explanation is told in the terms of decisions and texts alone.
	"explain": {"policy", "sqlclass"},
	// Assertions for the tests of an application, which knows the plugin.
	"explain/explaintest": {"gorm.io/gorm", "github.com/readsplit/readsplit", "explain", "policy"},
	// A meter counts and averages; what for is the balancer's affair.
	"policy/latency": {},
	// Servers on paper, for the decisions of policies and the estimates of meters.
	"internal/simulate": {"lsn", "policy", "policy/latency"},
	// An experiment on any shop and any servers, which counts what a router does.
	"internal/orderlab": {"gorm.io/gorm", "gorm.io/plugin/dbresolver", "github.com/readsplit/readsplit", "policy"},
	// Numbers in, a picture and a page out.
	"internal/chart": {},
	// Who waits for whom is counted, whatever it is for.
	"overload": {},
	// The monitor feeds the decision core and nothing above it.
	"monitor": {"lsn", "policy"},
	// What is told of is told in the terms of decisions and verdicts.
	"observe": {"policy", "retry"},
	// Who is the primary is judged from what servers say of themselves.
	"failover": {"lsn"},
	// Where servers are is found out without asking what they are; DSNs are taken apart as elsewhere.
	"discover": {"internal/dialect"},
	// A session's state and its token are positions.
	"session": {"lsn"},
	// Jobs speak to sessions as an application does.
	"session/jobs": {"github.com/readsplit/readsplit"},
	// HTTP knows sessions; the plugin knows nothing of HTTP.
	"session/httpsession": {"github.com/readsplit/readsplit", "internal/unmarked", "lsn", "session"},
	// Whoever watches for statements without a session stays unknown to the plugin.
	"internal/unmarked": {},
	// What any store of users must satisfy is told in tokens and positions.
	"session/storetest": {"lsn", "session"},
	// The lexer reads text and knows no database.
	"sqlclass": {},
	// The guard can be used without the rest.
	"readonlyguard": {"gorm.io/gorm", "sqlclass"},
	// What may be run again is judged from errors alone, without a driver.
	"retry": {},
	// What the functions and views of a database do, as its catalogue says.
	"catalog": {"sqlclass"},
	// The page shows the plugin's state from outside.
	"status": {"github.com/readsplit/readsplit", "discover", "failover", "observe", "overload", "policy"},
	// The doctor asks servers as the plugin would, and knows nothing of a running one but its JSON.
	"doctor":        {"github.com/jackc/pgx/v5", "catalog", "internal/connstring", "lsn", "overload"},
	"cmd/readsplit": {"doctor", "github.com/microsoft/go-mssqldb"},
	// dbresolver's names in front of the plugin; the root knows nothing of it.
	"dbresolver": {"gorm.io/gorm", "gorm.io/plugin/dbresolver", "github.com/readsplit/readsplit", "internal/dialect", "lsn", "policy"},
	// Real servers for tests, of users too: no part of the plugin.
	"testenv":             {"github.com/jackc/pgx/v5"},
	"testenv/cmd/cluster": {"testenv"},
	// A double of SQL Server, of the standard library alone: the wire and the engine know values, and nothing of servers.
	"testenv/tdsenv":                 {"testenv/tdsenv/internal/engine", "testenv/tdsenv/internal/sqlval", "testenv/tdsenv/internal/tds", "testenv/tdsenv/internal/tsql"},
	"testenv/tdsenv/internal/sqlval": {},
	"testenv/tdsenv/internal/tsql":   {"testenv/tdsenv/internal/sqlval"},
	"testenv/tdsenv/internal/engine": {"testenv/tdsenv/internal/sqlval", "testenv/tdsenv/internal/tsql"},
	"testenv/tdsenv/internal/tds":    {"testenv/tdsenv/internal/engine", "testenv/tdsenv/internal/sqlval"},
	// One suite of tests for every engine, of the plugin from outside: it knows no driver.
	"internal/conformance": {"gorm.io/gorm", "github.com/stretchr/testify", "github.com/readsplit/readsplit", "policy", "readonlyguard", "retry", "session"},
	// Which statements replay keeps cancelling: hashes and times.
	"internal/conflicts": {},
	// A standby of PostgreSQL 19, played for tests over an older one.
	"internal/waitdouble": {"github.com/jackc/pgx/v5"},
	// What dialectors keep in their configuration.
	"internal/dialect": {"gorm.io/gorm"},
	// Connection strings are texts.
	"internal/connstring": {},
	// A DNS server for tests.
	"internal/dnsdouble": {},
	"internal/heldup":    {},
	// Tests alone, of everything from outside.
	"internal/corpus": {},
	"internal/repo":   {},
}

func TestImports(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if rel != "." && skipped(path, rel, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(rel))
		if f.Name.Name == "main" && strings.Contains(dir, "internal/") {
			return nil // a generator, run by hand
		}
		allowed, known := imports[dir]
		if !known {
			t.Errorf("package %s has no line in the import table: say what it may import and why", dir)
			return nil
		}
		seen[dir] = true
		for _, spec := range f.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if !strings.Contains(strings.Split(name, "/")[0], ".") {
				continue // standard library
			}
			short := strings.TrimPrefix(name, module+"/")
			ok := slices.ContainsFunc(allowed, func(a string) bool {
				return short == a || strings.Contains(a, ".") && strings.HasPrefix(short, a+"/") || strings.HasPrefix(short, dir+"/internal/")
			})
			if !ok {
				t.Errorf("%s imports %s, which package %s may not: imports point inward", rel, name, dir)
			}
		}
		return nil
	})
	require.NoError(t, err)
	for dir := range imports {
		if dir != "internal/repo" {
			require.True(t, seen[dir] || dir == "internal/repo", "the import table names %s, which does not exist", dir)
		}
	}
}

// skipped reports whether a directory holds no package of this module.
func skipped(path, rel, name string) bool {
	if strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" {
		return true
	}
	// Modules of their own.
	mods, _ := filepath.Glob(filepath.Join(path, "go.mod"))
	return len(mods) > 0 || rel == "examples"
}
