package compare

import "time"

// wantedDifference says why readsplit is not to behave as plain GORM does, and in
// which modes it shows; in all when there are none.
type wantedDifference struct {
	reason string
	modes  []string
}

// patience is how long a program may be run again until it differs: as long as
// replicas are behind, the primary answers, as without the plugin.
const patience = 10 * time.Second

var (
	unprepared   = []string{"default", "skip_tx_translate"}
	onlyPrepared = []string{"prepared"}
)

// wanted are the programs that must differ, by name.
var wanted = map[string]wantedDifference{
	"the type of a transaction's pool": {"commits must be seen: a transaction is the plugin's; its *sql.Tx comes from readsplit.SQLTx", unprepared},
	"the type of a handle's pool":      {"begins must be seen: the pool is the plugin's; the *sql.DB comes from db.DB", unprepared},
	"the type of the dialector":        {"migrators must stay on the primary: the dialector is wrapped, and has Unwrap", nil},
	"who serves":                       {"a replica answers as the replica that it is", nil},
	"a setting of a pool of one":       {"a SET on one pool is not known to another; in a transaction or on a connection it is", nil},

	"the same text before and after a change of the table": {"plain GORM fails with 0A000, cached plan must not change result type; a read is run again", nil},
	"row of a mistake":                        {"plain GORM returns a row that panics when it is scanned", onlyPrepared},
	"row of a column that is none":            {"plain GORM returns a row that panics when it is scanned", onlyPrepared},
	"a transaction after a begin that failed": {"GORM's store of prepared statements drops the transaction of a begin that failed, unless its pool is a *sql.DB", onlyPrepared},
	"read only, write after a read":           {"the transaction runs on a replica, and cannot move once it has begun: ErrWriteInReadOnlyTransaction", nil},
	"read only, fails":                        {"what is no read is refused before it is sent to the replica: ErrWriteInReadOnlyTransaction", nil},
}
