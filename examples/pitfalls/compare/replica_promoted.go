package main

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var replicaPromoted = behaviour{
	name:  "replica_promoted",
	title: "One of two replicas is promoted",
	story: "Somebody promotes a replica for a test, or a cluster manager has lost sight of the primary. The server answers as before, with a history of its own: it never gets what is written from now on, and it takes writes. " +
		"dbresolver goes on reading there, and the transactions of hooks (see above) are committed there, where nobody will find them.",
	ours: "Each server is asked what it is. One that is not in recovery is warned about in the log, and no read goes there. Until that is noticed (a fifth of a second) what it shows is within `MaxLag`, as on any replica.",
	held: []test{{"rule_role_test.go", "TestR08Promotion"}},
	show: showReplicaPromoted,
}

func showReplicaPromoted(ctx context.Context, s *stage.Stage, sz size) (pair, error) {
	if err := s.Prepare(ctx, `CREATE TABLE pages (id bigserial PRIMARY KEY); INSERT INTO pages DEFAULT VALUES; CREATE TABLE visits (page bigint)`); err != nil {
		return pair{}, err
	}
	naive, routed, err := both(ctx, s, stage.Defaults)
	if err != nil {
		return pair{}, err
	}
	promoted := s.Cluster.Replica(0)
	undo, err := promoted.Promote(ctx)
	if err != nil {
		return pair{}, err
	}
	if err := s.Do(ctx, s.Cluster.Primary(), "INSERT INTO pages DEFAULT VALUES"); err != nil {
		return pair{}, err
	}
	written := time.Now()
	if err := stage.Eventually(ctx, "the row is older than MaxLag", func() bool { return time.Since(written) > maxLag }); err != nil {
		return pair{}, err
	}
	visit := func(tx *gorm.DB) error {
		return tx.Session(&gorm.Session{NewDB: true}).Transaction(func(tx *gorm.DB) error { return tx.Exec("INSERT INTO visits VALUES (?)", 1).Error })
	}
	var here [2]int // visits that the promoted server has, after dbresolver and after both
	read := func(db *gorm.DB, nth int) (old tally, err error) {
		for range sz.reads {
			var all []visited
			if err := db.WithContext(stage.Customer(ctx)).Find(&all).Error; err != nil {
				return old, err
			}
			old.add(len(all) != 2, nil)
			hooked := context.WithValue(stage.Customer(ctx), hookKey{}, visit)
			// Where the coin takes the other replica the transaction fails, see hook_transaction.
			if err := db.WithContext(hooked).First(&visited{}).Error; err != nil && nth == 1 {
				return old, err
			}
		}
		return old, s.Ask(ctx, promoted, "SELECT count(*) FROM visits", &here[nth])
	}
	lost, err := read(naive, 0)
	if err != nil {
		return pair{}, err
	}
	kept, err := read(routed, 1)
	if err != nil {
		return pair{}, err
	}
	const what, also = "lack a row older than 2 s", "%s; %d writes there"
	there := here[1] - here[0]
	return pair{
		cell{fmt.Sprintf(also, lost.cell(what, true).says, here[0]), lost.some() && here[0] > 0},
		cell{fmt.Sprintf(also, kept.cell(what, true).says, there), kept.none() && there == 0},
	}, undo()
}
