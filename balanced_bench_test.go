package readsplit_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
)

// What a read costs whose replica is reached through a name of several servers, beside
// one of a replica with a name of its own on the same way.
func BenchmarkBalancedName(b *testing.B) {
	c := breakable(b)
	database, in := onDatabase(b, c)
	name := newName(b, c.Replica(0))
	pooler := pgBouncer(b, c.Replica(0), database, name.port())
	const exec = " default_query_exec_mode=exec"
	session := func() context.Context {
		return readsplit.WithSession(context.Background(), readsplit.NewSession())
	}
	for _, x := range []struct {
		what, with string
		port       int
		change     func(*readsplit.Replica)
		ctx        context.Context
	}{
		{"a name of its own", "", name.port(), nil, session()},
		{"direct", "", name.port(), declared, session()},
		{"direct, any replica", "", name.port(), declared, readsplit.AnyReplica(context.Background())},
		{"pooled", exec, pooler, declared, session()},
	} {
		b.Run(x.what, func(b *testing.B) {
			d := newDB(b, c, in, oneReplica(c.Replica(0), database, x.port, x.with, x.change))
			replicasServe(b, d.DB)
			var one int
			onReplica := 0.0
			for b.Loop() {
				tx := d.WithContext(x.ctx).Raw("SELECT 1").Scan(&one)
				require.NoError(b, tx.Error)
				if decision, _ := readsplit.DecisionOf(tx); decision.Replica {
					onReplica++
				}
			}
			b.ReportMetric(100*onReplica/float64(b.N), "%replica")
		})
	}
	b.Run("the pooler alone", func(b *testing.B) {
		db, err := sql.Open("pgx", fmt.Sprintf("%s%s", through(c.Replica(0), database, pooler), exec))
		require.NoError(b, err)
		defer func() { _ = db.Close() }()
		var one int
		for b.Loop() {
			require.NoError(b, db.QueryRow("SELECT 1").Scan(&one))
		}
	})
}
