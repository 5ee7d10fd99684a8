package readsplit_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/policy"
)

// calmly keeps a busy machine from making replicas look dead or unknown, and reads
// go to the first replica that is right, so that a group is the only reason for the
// second.
func calmly(c *readsplit.Config) {
	c.SampleTimeout, c.MaxSampleAge, c.StickyWindow = 10*time.Second, 30*time.Second, time.Minute
	c.Balancer, c.ForbidNudge = first{}, true
	c.Health.SlowStart = -1
}

// grouped is a trap whose replica2 is in the group reports.
func grouped(t *testing.T, all []groups.Group, options ...dbOption) *trap {
	t.Helper()
	x := newTrap(t, append([]dbOption{configured(calmly), configured(func(c *readsplit.Config) {
		c.Groups = all
		c.Replicas[1].Groups = []string{"reports"}
	})}, options...)...)
	x.bothServe(t)
	return x
}

// bothServe waits until both replicas are known, so that where a read goes is up to its
// group alone.
func (x *trap) bothServe(t *testing.T) {
	t.Helper()
	eventually(t, "both replicas to be known", func() bool {
		for _, r := range x.plugin.Status().Replicas {
			if !r.Up || !r.Logical && r.Position.Zero() {
				return false
			}
		}
		return true
	})
}

// answer is who served a read of the books, and why.
type answer struct {
	server string
	reason policy.Reason
}

// booksFrom reads the books by db and returns who served them.
func booksFrom(t testing.TB, db *gorm.DB) answer {
	t.Helper()
	var books []book
	tx := db.Session(&gorm.Session{NewDB: true}).Find(&books)
	require.NoError(t, tx.Error)
	require.NotEmpty(t, books)
	return answer{books[0].Server, reason(t, tx)}
}

// hog opens a report that holds a connection of the group until it is closed.
func hog(t testing.TB, db *gorm.DB) *sql.Rows {
	t.Helper()
	rows, err := db.Raw("SELECT generate_series(1, 100000)").Rows()
	require.NoError(t, err)
	require.True(t, rows.Next())
	require.NoError(t, rows.Err())
	t.Cleanup(func() { _ = rows.Close() })
	return rows
}

// groupOf is what the plugin says of a group.
func (d *testDB) groupOf(t testing.TB, name string) groups.Status {
	t.Helper()
	for _, g := range d.plugin.Status().Groups {
		if g.Name == name {
			return g
		}
	}
	require.FailNow(t, "there is no group "+name)
	return groups.Status{}
}

// reports marks reads for the group.
func reports(ctx context.Context) context.Context { return readsplit.Group(ctx, "reports") }

// whoFrom asks by db who serves a read of no table.
func whoFrom(t testing.TB, db *gorm.DB) answer {
	t.Helper()
	var server string
	tx := db.Session(&gorm.Session{NewDB: true}).Raw(whoSQL).Scan(&server)
	require.NoError(t, tx.Error)
	return answer{server, reason(t, tx)}
}
