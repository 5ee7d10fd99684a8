package readsplit_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// R10, R11: whose writes whose reads see. The replicas stand still, so a read that
// is not bound by a write misses it, on a replica.
func TestR10WhoSeesWhoseWrites(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(boundless))
	require.NoError(t, d.Exec("CREATE TABLE writes (id bigserial PRIMARY KEY, note text)").Error)
	anna, boris := readsplit.NewSession(), readsplit.NewSession()
	nobody := context.Background()
	a, b := readsplit.WithSession(nobody, anna), readsplit.WithSession(nobody, boris)
	const sees, misses = true, false

	for _, step := range []struct {
		name  string
		write func(note string) error
		reads map[string]bool
	}{
		{"with a session", func(note string) error {
			return d.WithContext(a).Exec("INSERT INTO writes (note) VALUES (?)", note).Error
		}, map[string]bool{
			"the session": sees, "the session in another context": sees, "another session": misses, "nobody": sees,
			"the session, stale": sees, "nobody, stale": misses, "the session, any replica": misses, "the session, fresh": sees,
		}},
		{"with a session, a transaction", func(note string) error {
			return d.WithContext(a).Transaction(func(tx *gorm.DB) error {
				return tx.Exec("INSERT INTO writes (note) VALUES (?)", note).Error
			})
		}, map[string]bool{
			"the session": sees, "another session": misses, "nobody": sees, "nobody, stale": misses,
		}},
		{"a session that joins an open transaction", func(note string) error {
			return d.Transaction(func(tx *gorm.DB) error {
				return tx.WithContext(a).Exec("INSERT INTO writes (note) VALUES (?)", note).Error
			})
		}, map[string]bool{
			"the session": sees, "another session": misses, "nobody": sees,
		}},
		{"without a session", func(note string) error {
			return d.WithContext(nobody).Exec("INSERT INTO writes (note) VALUES (?)", note).Error
		}, map[string]bool{
			"the session": sees, "another session": sees, "nobody": sees,
			"the session, stale": misses, "nobody, stale": misses, "another session, any replica": misses,
		}},
		{"past the plugin, marked", func(note string) error {
			pool, err := d.DB.DB()
			require.NoError(t, err)
			_, err = pool.ExecContext(nobody, "INSERT INTO writes (note) VALUES ($1)", note)
			readsplit.MarkWrite(a)
			return err
		}, map[string]bool{
			"the session": sees, "another session": misses, "nobody": sees,
		}},
	} {
		t.Run(step.name, func(t *testing.T) {
			// Everybody has what was written so far.
			require.NoError(t, c.WaitCaughtUp(t.Context()))
			for _, ctx := range []context.Context{a, b, nobody} {
				replicasServe(t, d.WithContext(ctx))
			}
			defer still(t, c)()
			note := step.name
			require.NoError(t, step.write(note))
			for name, want := range step.reads {
				ctx := map[string]context.Context{
					"the session":                    a,
					"the session in another context": readsplit.WithSession(t.Context(), anna),
					"another session":                b,
					"nobody":                         nobody,
					"the session, stale":             readsplit.Stale(a),
					"nobody, stale":                  readsplit.Stale(nobody),
					"the session, any replica":       readsplit.AnyReplica(a),
					"another session, any replica":   readsplit.AnyReplica(b),
					"the session, fresh":             readsplit.Fresh(a),
				}[name]
				var found []struct{ Server string }
				require.NoError(t, d.WithContext(ctx).Raw("SELECT current_setting('cluster_name') AS server FROM writes WHERE note = ?", note).Scan(&found).Error)
				if want == sees && assert.Len(t, found, 1, "%s must see it", name) {
					assert.Equal(t, "primary", found[0].Server, name)
				}
				if want == misses {
					assert.Empty(t, found, "%s is not bound by it", name)
				}
			}
		})
	}
}

// R10: a change of the schema binds every session of the process, whoever made it.
func TestR10SchemaChangesBindEverybody(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(boundless))
	d.eligible(t, "replica1", "replica2")
	defer still(t, c)()
	a := readsplit.WithSession(t.Context(), readsplit.NewSession())
	b := readsplit.WithSession(t.Context(), readsplit.NewSession())
	replicasServe(t, d.WithContext(b))
	require.NoError(t, d.WithContext(a).Exec("CREATE TABLE fresh (id int)").Error)
	var count int
	tx := d.WithContext(b).Raw("SELECT count(*) FROM fresh").Scan(&count)
	require.NoError(t, tx.Error)
	decision, _ := readsplit.DecisionOf(tx)
	assert.Contains(t, []policy.Reason{policy.ReasonBehindSession, policy.ReasonWaitExpired, policy.ReasonPositionPending}, decision.Reason)
}

// R10: what the process wrote before the plugin was there are its writes too.
func TestR10ProcessBeginsWithWhatIsThere(t *testing.T) {
	c := cluster(t)
	before := newDB(t, c)
	require.NoError(t, before.Exec("CREATE TABLE writes (id int)").Error)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	defer still(t, c)()
	for i := range 10 {
		_, err := direct(t, c.Primary(), before.name).ExecContext(t.Context(), "INSERT INTO writes VALUES ($1)", i)
		require.NoError(t, err)
		d := newDB(t, c, configured(boundless), inDatabase(before.name))
		for range 10 {
			var count int
			require.NoError(t, d.Raw("SELECT count(*) FROM writes").Scan(&count).Error)
			require.Equal(t, i+1, count)
		}
	}
}

// R10: two plugins over one primary are one process: a write through one is seen
// through the other, with the same session and without any.
func TestR10TwoPluginsOverOnePrimary(t *testing.T) {
	c := cluster(t)
	one := newDB(t, c, configured(boundless))
	counters(t, one, 1)
	two := newDB(t, c, configured(boundless), inDatabase(one.name))
	for name, ctx := range map[string]context.Context{
		"nobody":  context.Background(),
		"session": readsplit.WithSession(context.Background(), readsplit.NewSession()),
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, c.WaitCaughtUp(t.Context()))
			for _, d := range []*testDB{one, two} {
				replicasServe(t, d.WithContext(ctx))
			}
			defer still(t, c)()
			for n, d := range []*testDB{one, two, one, two} {
				other := []*testDB{two, one}[n%2]
				value := fmt.Sprintf("%d", n+100)
				require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = "+value).Error)
				var got string
				require.NoError(t, other.WithContext(ctx).Raw("SELECT n::text FROM counters WHERE id = 1").Scan(&got).Error)
				require.Equal(t, value, got)
			}
		})
	}
	// The token of a session speaks for both, and either reads it back.
	ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
	defer still(t, c)()
	require.NoError(t, one.WithContext(ctx).Exec("UPDATE counters SET n = 1000").Error)
	require.NoError(t, two.WithContext(ctx).Exec("UPDATE counters SET n = 1001").Error)
	content, err := readsplit.Config{}.ParseToken(tokenOf(t, ctx))
	require.NoError(t, err)
	assert.Len(t, content.Positions, 1)
	for _, d := range []*testDB{one, two} {
		var n int
		require.NoError(t, d.WithContext(elsewhere(t, tokenOf(t, ctx))).Raw("SELECT n FROM counters WHERE id = 1").Scan(&n).Error)
		assert.Equal(t, 1001, n)
	}
}
