package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// traps are GORM's, by their number, in a few words.
var traps = map[int]string{
	1: "transactions begun from reads", 2: "`db.Connection`", 3: "handles after a finisher", 4: "preloads follow their parent",
	5: "hooks of a write read the primary", 6: "order of callbacks", 7: "callbacks that are missing", 8: "two routers on one handle",
	9: "handles from before `Use`", 10: "a replica that is down at the start", 11: "prepared statements within prepared statements",
	12: "`Row` whose Prepare fails", 13: "prepared writes are seen", 14: "`SQLTx`", 15: "what was committed, what not, what nobody knows",
	16: "the position is taken after the COMMIT", 17: "rows of a write commit when they are closed", 18: "a hook fails after the commit",
	19: "two sessions of one transaction", 20: "when nothing is run again", 21: "errors in the middle of the rows", 22: "errors of `Rows` and `Row` behind the callbacks",
	23: "a write that a replica refuses", 24: "errors are judged before they are flattened", 25: "the guard sends nothing", 26: "dry runs",
	27: "the classifier", 28: "the migrator, and prepared statements after DDL", 29: "locks", 30: "statements at once in a transaction",
	31: "OUTPUT through QueryContext, `TxOptions{ReadOnly}`", 32: "the hot path", 33: "plugins that replace `gorm:query`", 34: "dbresolver's clauses",
}

// elsewhere are traps that no engine changes, and the test that each has.
var elsewhere = map[int]string{
	6: "TestT06CallbackOrder", 7: "TestT07MissingCallbacks", 8: "TestT08TwoRouters", 32: "TestT32HotPath", 33: "TestT33ReplacedQuery", 34: "TestT34AsDBResolver",
}

// What the adapter for real servers proves of a test, the most first.
var proves = []string{"yes", "by names", "for an administrator", "no"}

// onReal is one of proves, and why it is no other.
func (c test) onReal() (proof, why string) {
	var lacks []string
	proof = "yes"
	for _, n := range c.needs {
		if n == suspending || n == failingOver { // with the variables of an administrator
			proof = "for an administrator"
		} else {
			lacks = append(lacks, string(n))
		}
	}
	if lacks != nil {
		return "no", ": " + strings.Join(lacks, ", ")
	}
	for _, n := range c.uses {
		lacks = append(lacks, string(n))
	}
	if lacks != nil {
		return "by names", ""
	}
	return proof, ""
}

// Tables are the tables of docs/conformance.md: each trap with its tests, and each test, with what
// is proven of it where.
func Tables() string {
	var b strings.Builder
	const head = " | PostgreSQL | double | real SQL Server |\n|---|---|---|---|"
	b.WriteString("| trap | tests" + head + "---|\n")
	for n := 1; n <= len(traps); n++ {
		var names []string
		best := len(proves) - 1
		for _, c := range tests() {
			if slices.Contains(c.traps, n) {
				names = append(names, c.name)
				proof, _ := c.onReal()
				best = min(best, slices.Index(proves, proof))
			}
		}
		if names == nil {
			fmt.Fprintf(&b, "| T%d %s | of GORM, whatever the engine: `%s` | yes | | |\n", n, traps[n], elsewhere[n])
			continue
		}
		fmt.Fprintf(&b, "| T%d %s | %s | yes | yes | %s |\n", n, traps[n], strings.Join(names, "; "), proves[best])
	}
	b.WriteString("\n| test" + head + "\n")
	for _, c := range tests() {
		proof, why := c.onReal()
		fmt.Fprintf(&b, "| %s | yes | yes | %s%s |\n", c.name, proof, why)
	}
	return b.String()
}
