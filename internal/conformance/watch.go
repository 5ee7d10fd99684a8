package conformance

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

var (
	// ours are statements about the tables of the suite, and what surrounds them.
	ours = regexp.MustCompile(`(?i)conformance_(books|authors)|^\s*(begin|commit|rollback|savepoint|save)\b`)
	// changes are what no replica may be sent.
	changes  = regexp.MustCompile(`(?is)\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM|MERGE|CREATE|ALTER|DROP|TRUNCATE)\s+\S*conformance_|\bFOR\s+(NO\s+KEY\s+)?UPDATE|UPDLOCK|XLOCK|\bRETURNING\b|OUTPUT\s+(INSERTED|DELETED)`)
	literals = regexp.MustCompile(`--[^\n]*|'(?:[^']|'')*'`)
)

// watch collects what the servers are sent from now on.
func (s *suite) watch(t *testing.T) (stop func() map[string][]string) {
	t.Helper()
	end, err := s.b.Faults.Watch(limit(t))
	require.NoError(t, err)
	return func() map[string][]string {
		t.Helper()
		by, err := end()
		require.NoError(t, err)
		for server, statements := range by {
			var kept []string
			for _, statement := range statements {
				if ours.MatchString(statement) {
					kept = append(kept, statement)
				}
			}
			by[server] = kept
		}
		return by
	}
}

// sent is what any server was sent meanwhile that has to do with the tables; nothing where the
// bench cannot tell.
func (s *suite) sent(t *testing.T, do func()) (statements []string) {
	t.Helper()
	if !s.b.Faults.has(watching) {
		do()
		return nil
	}
	stop := s.watch(t)
	do()
	for _, all := range stop() {
		statements = append(statements, all...)
	}
	return statements
}

// Servers are asked themselves: no replica is sent a write, whatever is done, each statement is
// sent to one server, and the one that the decision names.
func testWrongServer(t *testing.T, s *suite) {
	s.oneMode(t, func(t *testing.T, d *open) {
		stop := s.watch(t)
		counted := map[string]int{}
		count := func(db *gorm.DB) {
			var n int64
			tx := db.Model(&book{}).Where("title = ?", "counted").Count(&n)
			require.NoError(t, tx.Error)
			decided, ok := readsplit.DecisionOf(tx)
			require.True(t, ok)
			if decided.Replica {
				counted[decided.Server]++
			} else {
				counted[s.primary()]++
			}
		}
		for range 20 {
			count(d.session())
		}
		for range 5 {
			count(d.fresh())
		}
		for name, w := range writers {
			if name == "Upsert" { // that has a read of its own between two writes
				continue
			}
			db := d.session()
			s.rewind(t)
			s.add(t, "two")
			require.NoError(t, w.write(s, db), name)
			count(db)
		}
		_ = d.session().Transaction(func(tx *gorm.DB) error { return s.b.SQL.Lock(tx.Select("*")).Find(&[]book{}).Error })
		require.NoError(t, s.b.SQL.Lock(d.session()).Find(&[]book{}).Error)
		by := stop()
		for _, replica := range s.replicas() {
			require.NotEmpty(t, by[replica])
			for _, statement := range by[replica] {
				require.NotRegexp(t, changes, literals.ReplaceAllString(statement, "''"), replica)
			}
		}
		for _, server := range s.b.Servers {
			n := 0
			for _, statement := range by[server] {
				if strings.Contains(strings.ToLower(statement), "count(") {
					n++
				}
			}
			require.Equal(t, counted[server], n, "%s: what it was sent, and what the decisions say: %q", server, by[server])
		}
	})
}

// Texts go where their class says, and a replica never has to refuse one.
func testStatements(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		for _, statement := range s.b.SQL.Statements {
			db := d.session()
			tx := db.Raw(statement.Text).Scan(&[]map[string]any{})
			require.NoError(t, tx.Error, statement.Text)
			decided, ok := readsplit.DecisionOf(tx)
			require.True(t, ok, statement.Text)
			if statement.Reason == policy.ReasonNone {
				require.True(t, decided.Replica, "%s: %v", statement.Text, decided)
				continue
			}
			require.False(t, decided.Replica, statement.Text)
			require.Equal(t, statement.Reason, decided.Reason, statement.Text)
		}
		require.Zero(t, d.plugin.Status().Refused)
		require.NoError(t, d.WithContext(context.Background()).Exec("DELETE FROM "+booksTable+" WHERE title = ?", "returned").Error)
	})
}
