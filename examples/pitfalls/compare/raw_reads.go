package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var rawReads = behaviour{
	name:  "raw_reads",
	title: "`Raw` with a read that does not begin with SELECT",
	story: "Reports begin with WITH, and generated texts with a comment that says where they come from. Servers are well, and no replica is asked: the heaviest reads stay on the server that was to be relieved.",
	ours:  "The lexer finds nothing in them that writes, and a replica serves them.",
	held:  []test{{"trap_statement_test.go", "TestRawStatements"}},
	show:  showRawReads,
}

func showRawReads(ctx context.Context, s *stage.Stage, _ size) (pair, error) {
	const tries = 10
	if err := s.Prepare(ctx, orders); err != nil {
		return pair{}, err
	}
	naive, routed, err := both(ctx, s, nil)
	if err != nil {
		return pair{}, err
	}
	return each(naive, routed, "on the primary", func(db *gorm.DB, _ int) (away tally, err error) {
		for _, text := range []string{
			"WITH all_of_it AS (SELECT count(*) AS n FROM orders) SELECT current_setting('cluster_name') FROM all_of_it",
			"(SELECT current_setting('cluster_name')) UNION (SELECT current_setting('cluster_name') FROM orders)",
			"VALUES (current_setting('cluster_name'))",
			"/* the page of reports */ SELECT current_setting('cluster_name')",
			"-- the page of reports\nSELECT current_setting('cluster_name')",
		} {
			for range tries {
				var server string
				if err := db.WithContext(stage.Customer(ctx)).Raw(text).Scan(&server).Error; err != nil {
					return away, err
				}
				away.add(server == s.Cluster.Primary().Name(), nil)
			}
		}
		return away, nil
	})
}
