package main

import (
	"context"

	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var everyQuery = pitfall{
	name:  "every_query",
	title: "A routing decision in every query",
	done: "A page shows the order that its customer has just placed, and its author has thought of it: the query says `Clauses(dbresolver.Write)`. " +
		"The total comes from a hook (`AfterFind`), which that clause does not reach, and the points from a function that a colleague wrote for another page. Replay stands still; 50 orders.",
	instead: "The decision belongs to the request: one line of middleware gives it a session, and hooks, preloads, batches and the functions of colleagues follow, since all they need is its context. " +
		"A single read that must be current is marked in its context too (`Fresh(ctx)`), and so is what it calls.",
	show: showEveryQuery,
}

// basket is an order with lines, whose total is computed when it is read.
type basket struct {
	ID    int64
	Total int64 `gorm:"-"`
}

// AfterFind adds up the lines. A hook gets a new statement: what its caller had said in
// clauses is not in it, what was said in the context is.
func (b *basket) AfterFind(tx *gorm.DB) error {
	return tx.Table("lines").Where("basket_id = ?", b.ID).Select("coalesce(sum(price), 0)").Scan(&b.Total).Error
}

// points is what a colleague wrote for the page of an account.
func points(db *gorm.DB, basket int64) (n int64, err error) {
	err = db.Table("lines").Where("basket_id = ?", basket).Select("coalesce(sum(price / 10), 0)").Scan(&n).Error
	return n, err
}

func showEveryQuery(ctx context.Context, s *stage.Stage) ([]finding, error) {
	const baskets = 50
	if err := s.Prepare(ctx, `CREATE TABLE baskets (id bigserial PRIMARY KEY); CREATE TABLE lines (basket_id bigint, price bigint)`); err != nil {
		return nil, err
	}
	// checkout is the code of the page. find is its query, with whatever its author adds.
	checkout := func(db *gorm.DB, find func(db *gorm.DB) *gorm.DB) (noTotal, noPoints int, err error) {
		for range baskets {
			db := db.WithContext(stage.Customer(ctx))
			var placed basket
			err := db.Transaction(func(tx *gorm.DB) error {
				if err := tx.Create(&placed).Error; err != nil {
					return err
				}
				return tx.Exec("INSERT INTO lines VALUES (?, 30), (?, 70)", placed.ID, placed.ID).Error
			})
			if err != nil {
				return 0, 0, err
			}
			var shown basket
			if err := find(db).First(&shown, placed.ID).Error; err != nil {
				return 0, 0, err
			}
			earned, err := points(db, placed.ID)
			if err != nil {
				return 0, 0, err
			}
			if shown.Total != 100 {
				noTotal++
			}
			if earned != 10 {
				noPoints++
			}
		}
		return noTotal, noPoints, nil
	}

	naive, err := s.DBResolver(s.Cluster.Replicas()...)
	if err != nil {
		return nil, err
	}
	routed, _, err := s.Split(ctx, nil, s.Cluster.Replicas()...)
	if err != nil {
		return nil, err
	}
	if err := s.Pause(ctx); err != nil {
		return nil, err
	}
	hook, colleague, err := checkout(naive, func(db *gorm.DB) *gorm.DB { return db.Clauses(dbresolver.Write) })
	if err != nil {
		return nil, err
	}
	noTotal, noPoints, err := checkout(routed, func(db *gorm.DB) *gorm.DB { return db })
	if err != nil {
		return nil, err
	}
	return []finding{
		{"dbresolver", "orders shown with a total of 0", hook, baskets},
		{"dbresolver", "orders shown without their points", colleague, baskets},
		{"readsplit", "orders shown with a total of 0 (no query says anything)", noTotal, baskets},
		{"readsplit", "orders shown without their points", noPoints, baskets},
	}, nil
}
