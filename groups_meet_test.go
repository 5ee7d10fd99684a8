package readsplit_test

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/policy"
)

// A report in a read-only transaction stays off the primary, also from the statement on
// that its replica is not right for any more.
func TestGroupRefusesInsideOfATransaction(t *testing.T) {
	x := grouped(t, []groups.Group{{Name: "reports", Otherwise: groups.Refuse}})
	x.stale(t)
	db, ctx := x.session()
	before := x.plugin.Status()
	require.NoError(t, db.WithContext(reports(ctx)).Transaction(func(tx *gorm.DB) error {
		require.Equal(t, "replica2", whoFrom(t, tx).server)
		require.NoError(t, db.Exec("INSERT INTO books_t (title, author_id) VALUES ('three', 1)").Error)
		for range 2 {
			var server string
			err := tx.Raw(whoSQL).Scan(&server).Error
			require.ErrorIs(t, err, groups.ErrRefused)
			require.Empty(t, server)
		}
		require.Equal(t, "replica2", whoFrom(t, tx.WithContext(readsplit.AnyReplica(reports(ctx)))).server, "it goes on there")
		return nil
	}, &sql.TxOptions{ReadOnly: true}))
	assert.Equal(t, before.Primary.Reads, x.plugin.Status().Primary.Reads)
	assert.EqualValues(t, 2, x.groupOf(t, "reports").Refused)
}

// A preload of a report stays off the primary, also when the replica that served its
// parent has left meanwhile.
func TestGroupRefusesAPreload(t *testing.T) {
	x := grouped(t, []groups.Group{{Name: "reports", Otherwise: groups.Refuse}})
	require.NoError(t, x.Callback().Query().Before("gorm:preload").Register("leaves", func(tx *gorm.DB) {
		if tx.Statement.Table == "authors" {
			require.NoError(t, x.plugin.Drain(limit(t), "replica2"))
		}
	}))
	var all []author
	err := x.WithContext(reports(nobody())).Preload("Books").Find(&all).Error
	require.ErrorIs(t, err, groups.ErrRefused)
}

// One of many replicas that has failed a read keeps no other from it: here the only
// other one of its group.
func TestGroupOfManyReplicas(t *testing.T) {
	x := newTrap(t, saidToRead("standby_fails"), configured(calmly), configured(func(c *readsplit.Config) {
		c.Health.Strikes = -1
		c.Groups = []groups.Group{{Name: "reports", Otherwise: groups.Refuse}}
		both := c.Replicas
		for i := range 66 {
			r := readsplit.Replica{Name: fmt.Sprintf("r%d", i), Dialector: postgres.Open("host=127.0.0.1 port=1 user=nobody connect_timeout=1")}
			switch i {
			case 1:
				r.Dialector, r.Groups = both[1].Dialector, []string{"reports"}
			case 65:
				r.Dialector, r.Groups = both[0].Dialector, []string{"reports"}
			}
			c.Replicas = append(slices.Clip(c.Replicas), r)
		}
		c.Replicas = c.Replicas[len(both):]
	}))
	x.past(t, `CREATE FUNCTION standby_fails(code text) RETURNS text LANGUAGE plpgsql STABLE AS $$ BEGIN
		IF current_setting('cluster_name') = 'replica2' THEN RAISE EXCEPTION 'not here' USING ERRCODE = code; END IF;
		RETURN current_setting('cluster_name'); END $$`)
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
	eventually(t, "both to be known", func() bool {
		all := x.plugin.Status().Replicas
		return all[1].Up && all[65].Up && !all[1].Position.Zero() && !all[65].Position.Zero()
	})
	for range 3 {
		var server string
		require.NoError(t, x.WithContext(reports(nobody())).Raw("SELECT standby_fails('58030')").Scan(&server).Error)
		assert.Equal(t, "replica1", server)
	}
	assert.EqualValues(t, 3, x.plugin.Status().Replicas[65].Reads)
}

// A server that is fed by logical replication does not serve what the primary has no
// place for: nothing is known of its age, nor of whose writes it has.
func TestLogicalReplicaMeets(t *testing.T) {
	publisher, reporting := newFed(t)

	t.Run("a primary without a place", func(t *testing.T) {
		f := openFed(t, publisher, reporting, func(c *readsplit.Config) {
			c.PrimaryBudget = overload.Budget{Reads: 1, Beyond: overload.ServeStale, MaxWait: 50 * time.Millisecond}
		})
		f.known(t)
		rows, err := f.WithContext(reports(nobody())).Raw("SELECT generate_series(1, 1000000)").Rows()
		require.NoError(t, err)
		defer func() { require.NoError(t, rows.Close()) }()
		require.True(t, rows.Next())
		var server string
		err = f.WithContext(reports(nobody())).Raw("SELECT server FROM served_by").Scan(&server).Error
		assert.NotEqual(t, "reporting", server)
		assert.ErrorIs(t, err, overload.ErrPrimaryBusy)
	})

	t.Run("a pooler", func(t *testing.T) {
		pooler := pgBouncer(t, reporting, "postgres", reporting.Port())
		f := openFed(t, publisher, reporting, func(c *readsplit.Config) {
			c.Replicas[0].Dialector = postgres.Open(through(reporting, "postgres", pooler) + " default_query_exec_mode=exec")
		})
		f.known(t)
		assert.Equal(t, answer{"reporting", policy.ReasonStale}, f.from(t, readsplit.Stale(reports(nobody()))))
		assert.Equal(t, answer{"reporting", policy.ReasonAnyReplica}, f.from(t, readsplit.AnyReplica(reports(nobody()))))
		assert.Equal(t, answer{"primary", policy.ReasonGroupOnPrimary}, f.from(t, reports(nobody())))
		assert.Equal(t, "replica1", f.from(t, readsplit.Stale(nobody())).server)
		assert.Len(t, f.testDB.log.matching("reporting"), 1, "that it answers as several servers")
		var said string
		tx := f.WithContext(readsplit.AnyReplica(reports(nobody()))).Raw("SELECT writer()").Scan(&said)
		require.NoError(t, tx.Error)
		assert.Equal(t, policy.ReasonRefusedByReplica, reason(t, tx))
		assert.Zero(t, ask[int](t, reporting, "SELECT count(*) FROM other"))
	})
}
