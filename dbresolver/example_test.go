package dbresolver_test

import (
	"context"
	"fmt"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/dbresolver"
)

// What was gorm.io/plugin/dbresolver is another import path. The plugin under it is there
// for what dbresolver does not have.
func ExampleRegister() {
	primaryDSN, replicaDSN := mainCluster.Primary().DSN(), mainCluster.Replica(0).DSN()

	db, err := gorm.Open(postgres.Open(primaryDSN), &gorm.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	resolver := dbresolver.Register(dbresolver.Config{
		Replicas: []gorm.Dialector{postgres.Open(replicaDSN)},
		Policy:   dbresolver.RoundRobinPolicy(),
	}).SetMaxOpenConns(50)
	if err := db.Use(resolver); err != nil {
		fmt.Println(err)
		return
	}
	defer resolver.Plugin().Close(context.Background())

	var server string
	db.Clauses(dbresolver.Write).Raw("SELECT current_setting('cluster_name')").Scan(&server)
	fmt.Println(server)

	ctx := readsplit.AnyReplica(context.Background())
	db.WithContext(ctx).Raw("SELECT current_setting('cluster_name')").Scan(&server)
	fmt.Println(server)
	// Output:
	// primary
	// replica1
}
