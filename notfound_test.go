package readsplit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// Where the configuration or the context says so, what a replica does not have is
// looked for once on the primary.
func TestNotFoundIsCheckedOnThePrimary(t *testing.T) {
	always := configured(func(c *readsplit.Config) { c.NotFound = policy.RecheckOnPrimary })
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
		lookups(t, x.WithContext(ctx))
		// Who wants any replica wants its answer.
		err := x.WithContext(readsplit.AnyReplica(ctx)).First(&book{}, "title = ?", "two").Error
		require.ErrorIs(t, err, gorm.ErrRecordNotFound)
	}, always)
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
		var two book
		require.ErrorIs(t, x.WithContext(ctx).First(&two, "title = ?", "two").Error, gorm.ErrRecordNotFound, "not unless it is asked for")
		lookups(t, x.WithContext(readsplit.Recheck(ctx)))
	})
}

func lookups(t *testing.T, db *gorm.DB) {
	t.Helper()
	for name, look := range map[string]func(b *hookedBook, title string) *gorm.DB{
		"First": func(b *hookedBook, title string) *gorm.DB { return db.First(b, "title = ?", title) },
		"Last":  func(b *hookedBook, title string) *gorm.DB { return db.Last(b, "title = ?", title) },
		"Take":  func(b *hookedBook, title string) *gorm.DB { return db.Where("title = ?", title).Take(b) },
		"Find":  func(b *hookedBook, title string) *gorm.DB { return db.Where("title = ?", title).Limit(1).Find(b) },
		"Raw": func(b *hookedBook, title string) *gorm.DB {
			return db.Raw("SELECT * FROM books WHERE title = ?", title).First(b)
		},
	} {
		var b hookedBook
		tx := look(&b, "two")
		require.NoError(t, tx.Error, name)
		require.EqualValues(t, 1, tx.RowsAffected, name)
		require.Equal(t, "primary", b.Server, name)
		require.Equal(t, policy.ReasonNotFoundRecheck, reason(t, tx), name)

		b = hookedBook{}
		tx = look(&b, "one")
		require.NoError(t, tx.Error, name)
		onReplica(t, b.Server)

		b = hookedBook{}
		tx = look(&b, "none")
		if name == "Find" {
			require.NoError(t, tx.Error)
		} else {
			require.ErrorIs(t, tx.Error, gorm.ErrRecordNotFound, name)
			require.Equal(t, gorm.ErrRecordNotFound.Error(), tx.Error.Error(), "said once")
		}
		require.Zero(t, tx.RowsAffected, name)
		require.Zero(t, b, name)
		require.Equal(t, policy.ReasonNotFoundRecheck, reason(t, tx), name)
	}
	// A list is as long as it is, unless it is the end of FindInBatches.
	var list []book
	tx := db.Find(&list)
	require.NoError(t, tx.Error)
	require.Len(t, list, 1)
	onReplica(t, list[0].Server)
	require.NoError(t, db.Limit(5).Find(&list).Error)
	require.Len(t, list, 1)

	var titles []string
	var batch []book
	tx = db.FindInBatches(&batch, 5, func(tx *gorm.DB, n int) error {
		require.Equal(t, 1, n)
		for _, b := range batch {
			titles = append(titles, b.Title)
			require.Equal(t, "primary", b.Server)
		}
		return nil
	})
	require.NoError(t, tx.Error)
	require.Equal(t, []string{"one", "two"}, titles)
	require.EqualValues(t, 2, tx.RowsAffected)
	titles = nil
	require.NoError(t, db.FindInBatches(&batch, 1, func(tx *gorm.DB, n int) error {
		titles = append(titles, batch[0].Title+" "+map[bool]string{true: "replica", false: "primary"}[isReplica(batch[0].Server)])
		return nil
	}).Error)
	require.Equal(t, []string{"one replica", "two primary"}, titles, "a full batch stands, an empty one is checked")
}

// AfterFind and preloads run once, on what was found in the end.
func TestNotFoundRunsHooksOnce(t *testing.T) {
	x := newTrap(t)
	x.stale(t)
	found := 0
	h := hooks{"AfterFind": func(tx *gorm.DB) error {
		found++
		require.Equal(t, "primary", served(t, tx), "what follows sees what was found")
		return nil
	}}
	ctx := readsplit.Recheck(readsplit.WithSession(withHooks(h), readsplit.NewSession()))
	require.NoError(t, x.WithContext(ctx).First(&hookedBook{}, "title = ?", "two").Error)
	require.Equal(t, 1, found)
}

// Without the primary the replica's answer stands: a check that cannot be made
// is no error.
func TestNotFoundWithoutThePrimary(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(quick), configured(func(c *readsplit.Config) { c.NotFound = policy.RecheckOnPrimary }))
	counters(t, d, 1)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	d.eligible(t, "replica1", "replica2")
	_, err := c.Primary().Stop(limit(t))
	require.NoError(t, err)
	eventually(t, "the primary to be lost", func() bool { return !d.plugin.Status().Primary.Up })
	ctx := readsplit.Stale(nobody())
	eventually(t, "a replica to serve", func() bool {
		return d.WithContext(ctx).Raw(whoSQL).Scan(new(string)).Error == nil
	})
	var one struct{ ID int64 }
	tx := d.WithContext(ctx).Table("counters").Where("id = 77").Take(&one)
	require.ErrorIs(t, tx.Error, gorm.ErrRecordNotFound)
	require.Equal(t, gorm.ErrRecordNotFound.Error(), tx.Error.Error())
	decision, ok := readsplit.DecisionOf(tx)
	require.True(t, ok)
	require.True(t, decision.Replica)
}

// A check that fails in the middle of its rows leaves what the replica said.
func TestNotFoundCheckThatFails(t *testing.T) {
	x := newTrap(t)
	x.past(t, "CREATE TABLE nums (id int PRIMARY KEY, n int)")
	x.past(t, "INSERT INTO nums VALUES (1, 1), (2, 2)")
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
	x.stale(t)
	x.past(t, "UPDATE nums SET n = 100")
	x.past(t, "INSERT INTO nums VALUES (3, 0)")
	type num struct{ ID, N int }
	ctx := readsplit.Recheck(readsplit.WithSession(context.Background(), readsplit.NewSession()))
	var batch, seen []num
	err := x.WithContext(ctx).Table("(SELECT id, 1000 / n AS n FROM nums ORDER BY id OFFSET 0) AS q").FindInBatches(&batch, 10, func(*gorm.DB, int) error {
		seen = append(seen, batch...)
		return nil
	}).Error
	require.NoError(t, err)
	require.Equal(t, []num{{1, 1000}, {2, 500}}, seen)
}
