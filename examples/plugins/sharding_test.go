package plugins

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/sharding"

	"github.com/readsplit/readsplit"
)

const shards = `
CREATE TABLE orders_t (id bigserial PRIMARY KEY, user_id bigint, product text);
CREATE VIEW orders AS SELECT *, current_setting('cluster_name') AS server FROM orders_t;
CREATE TABLE orders_0_t (id bigint PRIMARY KEY, user_id bigint, product text);
CREATE VIEW orders_0 AS SELECT *, current_setting('cluster_name') AS server FROM orders_0_t;
CREATE TABLE orders_1_t (id bigint PRIMARY KEY, user_id bigint, product text);
CREATE VIEW orders_1 AS SELECT *, current_setting('cluster_name') AS server FROM orders_1_t;`

// shardedOrder is in two tables, by its user.
type shardedOrder struct {
	ID      int64
	UserID  int64
	Product string
	Server  string `gorm:"->"`
}

func (shardedOrder) TableName() string { return "orders" }

// invoice is what AutoMigrate makes shards of.
type invoice struct {
	ID     int64
	UserID int64
}

func shard(_ *testing.T, db *gorm.DB) error {
	return db.Use(sharding.Register(sharding.Config{
		ShardingKey: "user_id", NumberOfShards: 2, PrimaryKeyGenerator: sharding.PKSnowflake,
	}, "orders", "invoices"))
}

// counts says how many orders the primary has in the table that is not sharded,
// and in each shard.
func (x *app) counts(t *testing.T) string {
	return x.value(t, "SELECT 'main=' || (SELECT count(*) FROM orders_t) || ' 0=' || (SELECT count(*) FROM orders_0_t) || ' 1=' || (SELECT count(*) FROM orders_1_t)")
}

// TestSharding: with SkipDefaultTransaction the plugin does what it does alone.
func TestSharding(t *testing.T) {
	o := options{ddl: shards, gorm: gorm.Config{SkipDefaultTransaction: true}}
	eachOrder(t, o, shard, func(t *testing.T, x *app) []string {
		var log []string
		me := x.visitor()
		mine := shardedOrder{ID: 1, UserID: 1, Product: "a"}
		log = append(log, said("create", me.Create(&mine), x.counts(t)))
		log = append(log, said("update", me.Model(&shardedOrder{}).Where("user_id = ?", 1).Update("product", "b"), x.value(t, "SELECT product FROM orders_1_t")))
		err := me.Transaction(func(tx *gorm.DB) error {
			log = append(log, said("create in a transaction", tx.Create(&shardedOrder{ID: 2, UserID: 1}), x.counts(t)))
			return errors.New("changed my mind")
		})
		log = append(log, err.Error(), x.counts(t))
		err = me.Transaction(func(tx *gorm.DB) error {
			if err := tx.Create(&shardedOrder{ID: 3, UserID: 0}).Error; err != nil {
				return err
			}
			return tx.Create(&shardedOrder{ID: 4, UserID: 1}).Error
		})
		require.NoError(t, err)
		log = append(log, x.counts(t))
		var nested error
		_ = me.Transaction(func(tx *gorm.DB) error {
			nested = tx.Transaction(func(tx *gorm.DB) error { return nil })
			return nil
		})
		require.ErrorIs(t, nested, gorm.ErrUnsupportedDriver, "the plugin's dialector has no savepoints")
		log = append(log, said("delete", me.Where("user_id = ?", 0).Delete(&shardedOrder{}), x.counts(t)))
		var all []shardedOrder
		tx := me.Where("user_id = ?", 1).Order("id").Find(&all)
		log = append(log, said("find", tx, len(all), all[0].ID, all[0].Product))
		require.ErrorIs(t, me.Find(&all).Error, sharding.ErrMissingShardingKey)
		log = append(log, said("count", me.Model(&shardedOrder{}).Where("user_id = ?", 1).Count(new(int64))))
		read := check{
			write: func(tx *gorm.DB) error { return tx.Create(&shardedOrder{ID: 10, UserID: 1}).Error },
			read: func(tx *gorm.DB) (int, string) {
				var all []shardedOrder
				tx = tx.Where("user_id = ?", 1).Find(&all)
				require.NoError(t, tx.Error)
				_, ok := readsplit.DecisionOf(tx)
				require.False(t, ok, "the plugin leaves its own pool in the statement, which knows no decision")
				return len(all), all[0].Server
			},
		}
		if x.PrepareStmt && x.plugin != nil {
			// The plugin asks GORM's store of prepared statements, which prepares on the
			// primary.
			rows, server := read.read(x.visitor())
			require.Equal(t, "primary", server)
			x.pause(t)
			require.NoError(t, read.write(me))
			now, server := read.read(me)
			require.Equal(t, rows+1, now)
			require.Equal(t, "primary", server)
			require.NoError(t, x.cluster.UndoAll())
		} else {
			follows(t, x, read)
		}
		if x.plugin != nil {
			require.Positive(t, x.plugin.Status().Unsure, "its pool is taken for one of the application's own")
		}
		// A change of the schema binds every session.
		require.NoError(t, x.AutoMigrate(&invoice{}))
		log = append(log, x.value(t, "SELECT string_agg(tablename, ' ' ORDER BY tablename) FROM pg_tables WHERE schemaname = current_schema() AND tablename LIKE 'invoices%'"))
		return log
	})
}

// TestShardingLosesDefaultTransactions: without SkipDefaultTransaction the plugin
// takes any transaction but a *sql.Tx for its own to end, and begins on any pool
// but a *sql.DB without sharding what follows. So it is with GORM's prepared
// statements, without readsplit.
func TestShardingLosesDefaultTransactions(t *testing.T) {
	x := newApp(t, options{ddl: shards, gorm: gorm.Config{PrepareStmt: true}}, alone, func(db *gorm.DB) error { return shard(t, db) })
	require.NoError(t, x.Create(&shardedOrder{ID: 1, UserID: 1}).Error)
	require.Equal(t, "main=1 0=0 1=0", x.counts(t), "in the table that is not sharded")
	undone := errors.New("undone")
	err := x.Transaction(func(tx *gorm.DB) error {
		require.NoError(t, tx.Create(&shardedOrder{ID: 2, UserID: 1}).Error)
		return undone
	})
	require.ErrorIs(t, err, undone)
	require.Equal(t, "main=1 0=0 1=1", x.counts(t), "committed by the first write in it")

	x = newApp(t, options{ddl: shards}, alone, func(db *gorm.DB) error { return shard(t, db) })
	require.NoError(t, x.Create(&shardedOrder{ID: 1, UserID: 1}).Error)
	require.Equal(t, "main=0 0=0 1=1", x.counts(t))
}

// TestShardingIsRefused: readsplit does not let that happen, in either order.
func TestShardingIsRefused(t *testing.T) {
	const remedy = "set gorm.Config.SkipDefaultTransaction"
	x := newApp(t, options{ddl: shards}, alone, func(db *gorm.DB) error { return shard(t, db) })
	require.ErrorContains(t, x.Use(readsplit.New(readsplit.Config{Replicas: x.replicas()})), remedy)

	x = newApp(t, options{ddl: shards}, after, func(db *gorm.DB) error { return shard(t, db) })
	require.ErrorContains(t, x.Create(&shardedOrder{ID: 1, UserID: 1}).Error, remedy)
	err := x.Transaction(func(tx *gorm.DB) error { return tx.Create(&shardedOrder{ID: 2, UserID: 1}).Error })
	require.ErrorContains(t, err, remedy)
	require.ErrorContains(t, x.Model(&shardedOrder{}).Where("user_id = ?", 1).Update("product", "b").Error, remedy)
	require.Equal(t, "main=0 0=0 1=0", x.counts(t), "nothing was sent")
	require.NoError(t, x.Where("user_id = ?", 1).Find(&[]shardedOrder{}).Error)
}
