package readsplit

import (
	"errors"

	"gorm.io/gorm"
)

// errSharding: gorm.io/sharding takes every transaction that is no *sql.Tx for its
// own. With GORM's default transaction a Create then goes to the table that is not
// sharded, and the first Create inside db.Transaction commits everything.
var errSharding = errors.New("readsplit: gorm.io/sharding does not see GORM's default transactions through a pool that is not a *sql.DB, and would write to the table that is not sharded: set gorm.Config.SkipDefaultTransaction (docs/plugins.md)")

func shardingLosesTransactions(db *gorm.DB) bool {
	return !db.SkipDefaultTransaction && db.Plugins["gorm:sharding"] != nil
}
