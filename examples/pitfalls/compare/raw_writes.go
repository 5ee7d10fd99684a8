package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var rawWrites = behaviour{
	name:  "raw_writes",
	title: "`Raw` with a SELECT that writes or locks",
	story: "A queue takes its next job with `SELECT .. FOR UPDATE SKIP LOCKED`; a number comes from a sequence; an order is placed by a function. Servers are well. What begins with SELECT and does not end with `FOR UPDATE` is a read to dbresolver, " +
		"and a replica refuses it.",
	ours: "A lexer reads the whole text, and the catalogue of the database says which functions may write: all but those that are STABLE or IMMUTABLE run on the primary.",
	held: []test{{"trap_statement_test.go", "TestRawStatements"}, {"catalogue_test.go", "TestCatalogue"}},
	show: showRawWrites,
}

func showRawWrites(ctx context.Context, s *stage.Stage, _ size) (pair, error) {
	const tries = 10
	err := s.Prepare(ctx, orders+`; CREATE SEQUENCE numbers; INSERT INTO orders (customer) VALUES (1);
		CREATE FUNCTION place_order(bigint) RETURNS bigint LANGUAGE sql AS 'INSERT INTO orders (customer) VALUES ($1) RETURNING id'`)
	if err != nil {
		return pair{}, err
	}
	naive, routed, err := both(ctx, s, nil)
	if err != nil {
		return pair{}, err
	}
	return each(naive, routed, "fail", func(db *gorm.DB, _ int) (failed tally, err error) {
		for _, text := range []string{
			"SELECT id FROM orders LIMIT 1 FOR UPDATE SKIP LOCKED",
			"SELECT nextval('numbers')",
			"SELECT place_order(7)",
		} {
			for range tries {
				var answer int64
				failed.add(false, db.WithContext(stage.Customer(ctx)).Raw(text).Scan(&answer).Error)
			}
		}
		return failed, nil
	})
}
