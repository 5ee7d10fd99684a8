package corpus

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/sqlclass"
	"github.com/readsplit/readsplit/testenv"
)

// truth is what the standby made of a statement.
type truth struct {
	state   string // SQLSTATE, "" for accepted
	changed string // what it left behind, or held while its transaction was open
}

// refusals are the SQLSTATEs by which a standby says that a statement is not for
// it: read-only transaction, not supported in recovery, recovery in progress.
var refusals = []string{"25006", "0A000", "55000", "XX000"}

func (r truth) refused() bool { return slices.Contains(refusals, r.state) }

// asker asks a standby about one statement after the other. A connection on which
// nothing shows of the statements before is used again, any other is replaced.
type asker struct {
	standby *testenv.Server
	origin  string
	conn    *pgconn.PgConn
	fresh   string // what a session shows that nothing was done on
	escapes bool   // with standard_conforming_strings off
}

// ask runs a statement, and when it was accepted once more in a transaction that
// is rolled back, to see its locks.
func (a *asker) ask(t *testing.T, s statement) truth {
	t.Helper()
	if a.conn == nil || a.origin != s.origin {
		a.close()
		a.origin, a.conn = s.origin, connect(t, a.standby, s.origin)
		if a.escapes {
			require.Empty(t, run(t, a.conn, "SET standard_conforming_strings = off"))
		}
		a.fresh = observe(t, a.conn)
	}
	r := truth{state: run(t, a.conn, s.sql)}
	if a.conn.IsClosed() || a.conn.TxStatus() != 'I' {
		r.changed = "the connection or its transaction"
		a.close()
		return r
	}
	r.changed = difference(a.fresh, observe(t, a.conn))
	if r.state == "" && r.changed == "" {
		r.changed = within(t, a.conn, s.sql)
	}
	if r.changed != "" || s.effect != "" {
		a.close()
	}
	return r
}

func (a *asker) close() {
	if a.conn != nil {
		disconnect(a.conn)
		a.conn = nil
	}
}

// within runs a statement in a transaction and reports what that shows before its
// end. It rolls back.
func within(t testing.TB, conn *pgconn.PgConn, sql string) string {
	t.Helper()
	require.Empty(t, run(t, conn, "BEGIN"))
	before := observe(t, conn)
	if run(t, conn, sql) != "" || conn.TxStatus() != 'T' {
		_ = run(t, conn, "ROLLBACK") // VACUUM and its like run alone
		return ""
	}
	change := difference(before, observe(t, conn))
	require.Empty(t, run(t, conn, "ROLLBACK"))
	return change
}

// tally counts one file of the corpus, or all of them.
type tally struct {
	statements, refused, effects, reads, bare, judged int
}

func (a *tally) add(b tally) {
	a.statements += b.statements
	a.refused += b.refused
	a.effects += b.effects
	a.reads += b.reads
	a.bare += b.bare
	a.judged += b.judged
}

func percent(part, whole int) float64 {
	if whole == 0 {
		return 100
	}
	return 100 * float64(part) / float64(whole)
}

// TestClassify is the measurement: nothing that a standby refuses or that has an
// effect is a read, and nearly everything else is one.
func TestClassify(t *testing.T) {
	c := cluster(t)
	judged := catalogue(t, c)
	var out strings.Builder
	var total tally
	perOrigin := map[string]*tally{}
	unsafe := 0
	standby := &asker{standby: c.Replica(0)}
	defer standby.close()
	for _, s := range load(t) {
		if s.since > c.Major() {
			continue
		}
		if perOrigin[s.origin] == nil {
			perOrigin[s.origin] = &tally{}
		}
		one, dangers := measure(t, standby, judged, s, &out)
		unsafe += dangers
		perOrigin[s.origin].add(one)
		total.add(one)
	}
	for _, origin := range slices.Sorted(maps.Keys(perOrigin)) {
		o := perOrigin[origin]
		fmt.Fprintf(&out, "%-12s statements=%d refused=%d effects=%d reads=%d recall=%.1f%% (text alone %.1f%%)\n", origin,
			o.statements, o.refused, o.effects, o.reads, percent(o.judged, o.reads), percent(o.bare, o.reads))
	}
	fmt.Fprintf(&out, "PostgreSQL %s: refused=%d effects=%d reads=%d, recall from the text alone %.1f%%\n",
		c.Version(), total.refused, total.effects, total.reads, percent(total.bare, total.reads))
	fmt.Fprintf(&out, "classify: statements=%d unsafe=%d recall=%.1f%%\n", total.statements, unsafe, percent(total.judged, total.reads))
	fmt.Print(out.String())
	assert.Zero(t, unsafe, "statements that would do harm on a replica")
	assert.Greater(t, percent(total.judged, total.reads), 98.0)
	assert.Greater(t, total.refused, 200, "a corpus without writes proves nothing")
	assert.Greater(t, total.effects, 50, "a corpus without effects proves nothing")
}

// measure compares the standby's answer with the classification of one statement.
func measure(t *testing.T, standby *asker, judged judge, s statement, out *strings.Builder) (tally, int) {
	t.Helper()
	r := standby.ask(t, s)
	where := fmt.Sprintf("%s:%d: %s", s.origin, s.line, oneLine(s.sql))
	one := tally{statements: 1}
	bare := sqlclass.Classify(sqlclass.PostgreSQL, s.sql).Class == sqlclass.Read
	full := judged(s.sql).Class == sqlclass.Read
	assert.Truef(t, r.state == "" || r.refused() || r.state == s.fails, "neither accepted nor refused as a write, %q: %s", r.state, where)
	assert.Truef(t, r.changed == "" || s.effect != "" || r.state != "", "changed %s and is not marked: %s", r.changed, where)
	switch {
	case r.refused():
		one.refused = 1
	case r.state == s.fails && s.fails != "":
		return one, 0
	case s.effect != "":
		one.effects = 1
	default:
		one.reads = 1
		if bare {
			one.bare = 1
		}
		if full {
			one.judged = 1
		} else {
			fmt.Fprintf(out, "miss: %s\n", where)
		}
		return one, 0
	}
	// Alone the text cannot show what a view or a user's function does: the
	// catalogue and the replica's own refusal are there for that.
	if full || bare && !s.behind {
		fmt.Fprintf(out, "UNSAFE %s %s: %s\n", r.state, s.effect, where)
		return one, 1
	}
	return one, 0
}

func oneLine(sql string) string {
	sql = strings.Join(strings.Fields(sql), " ")
	if len(sql) > 200 {
		sql = sql[:200] + ".."
	}
	return sql
}
