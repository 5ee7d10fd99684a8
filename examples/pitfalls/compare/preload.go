package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var preload = behaviour{
	name:  "preload",
	title: "`Preload`; one of two replicas behind",
	story: "An invoice and its positions were committed in one transaction, and somebody else looks at it. Parent and children are two statements, each with its own choice of a replica: the parent from one that has it, the children from one that does not, " +
		"and the page shows an invoice of nothing.",
	ours: "Children are read where their parent was, and never from an older state.",
	held: []test{{"trap_handle_test.go", "TestT04PreloadFollowsItsParent"}, {"rule_found_test.go", "TestPreloadIsNotOlderThanItsParent"}},
	show: showPreload,
}

// invoice has positions.
type invoice struct {
	ID        int64
	Positions []position
}

type position struct {
	ID        int64
	InvoiceID int64
}

func showPreload(ctx context.Context, s *stage.Stage, sz size) (pair, error) {
	if err := s.Prepare(ctx, `CREATE TABLE invoices (id bigserial PRIMARY KEY); CREATE TABLE positions (id bigserial PRIMARY KEY, invoice_id bigint)`); err != nil {
		return pair{}, err
	}
	naive, routed, err := both(ctx, s, nil)
	if err != nil {
		return pair{}, err
	}
	if err := behind(ctx, s, `WITH made AS (INSERT INTO invoices DEFAULT VALUES RETURNING id) INSERT INTO positions (invoice_id) SELECT id FROM made`); err != nil {
		return pair{}, err
	}
	shown := func(db *gorm.DB) (empty tally, err error) {
		for range sz.reads {
			var all []invoice
			if err := db.WithContext(stage.Customer(ctx)).Preload("Positions").Find(&all).Error; err != nil {
				return empty, err
			}
			empty.add(len(all) == 1 && len(all[0].Positions) == 0, nil)
		}
		return empty, nil
	}
	const what = "parents without their children"
	lost, err := shown(naive)
	if err != nil {
		return pair{}, err
	}
	kept, err := shown(routed)
	return pair{lost.cell(what, lost.some()), kept.cell(what, kept.none())}, err
}

// behind writes something that one replica has and the other lacks, until the play ends.
func behind(ctx context.Context, s *stage.Stage, text string) error {
	if err := s.Cluster.WaitCaughtUp(ctx); err != nil {
		return err
	}
	late, has := s.Cluster.Replica(1), s.Cluster.Replica(0)
	if _, err := late.PauseReplay(ctx); err != nil {
		return err
	}
	var position string
	if err := s.Do(ctx, s.Cluster.Primary(), text); err != nil {
		return err
	}
	if err := s.Ask(ctx, s.Cluster.Primary(), "SELECT pg_current_wal_lsn()", &position); err != nil {
		return err
	}
	there, err := s.Open(has)
	if err != nil {
		return err
	}
	return stage.Eventually(ctx, "one replica has it", func() bool {
		var replayed bool
		return there.Raw("SELECT pg_last_wal_replay_lsn() >= ?::pg_lsn", position).Scan(&replayed).Error == nil && replayed
	})
}
