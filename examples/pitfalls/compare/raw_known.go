package main

import (
	"context"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var rawKnown = behaviour{
	name:  "raw_known",
	title: "`Raw` with INSERT .. RETURNING and with a CTE that writes, `Clauses(Locking)`, reads in a transaction",
	story: "What does not begin with SELECT goes to the source, whatever it is; a locking clause of the builder is seen, and so is the transaction that a statement is in.",
	ours:  "The same.",
	held:  []test{{"trap_statement_test.go", "TestRawStatements"}, {"trap_handle_test.go", "TestT29Locking"}},
	show:  showRawKnown,
}

func showRawKnown(ctx context.Context, s *stage.Stage, _ size) (pair, error) {
	const tries = 10
	if err := s.Prepare(ctx, orders+"; INSERT INTO orders (customer) VALUES (1)"); err != nil {
		return pair{}, err
	}
	naive, routed, err := both(ctx, s, nil)
	if err != nil {
		return pair{}, err
	}
	raw := func(text string) func(db *gorm.DB) error {
		return func(db *gorm.DB) error {
			var id int64
			return db.Raw(text).Scan(&id).Error
		}
	}
	ways := []func(db *gorm.DB) error{
		raw("INSERT INTO orders (customer) VALUES (2) RETURNING id"),
		raw("WITH made AS (INSERT INTO orders (customer) VALUES (3) RETURNING id) SELECT id FROM made"),
		func(db *gorm.DB) error { return db.Clauses(clause.Locking{Strength: "UPDATE"}).First(&order{}).Error },
		func(db *gorm.DB) error {
			return db.Transaction(func(tx *gorm.DB) error {
				made := order{Customer: 4}
				if err := tx.Create(&made).Error; err != nil {
					return err
				}
				return tx.First(&order{}, made.ID).Error
			})
		},
	}
	try := func(db *gorm.DB) (failed tally) {
		for _, way := range ways {
			for range tries {
				failed.add(false, way(db.WithContext(stage.Customer(ctx))))
			}
		}
		return failed
	}
	known, same := try(naive), try(routed)
	return pair{known.cell("fail", known.none()), same.cell("fail", same.none())}, nil
}
