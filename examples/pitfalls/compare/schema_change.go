package main

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var schemaChange = behaviour{
	name:  "schema_change",
	title: "A column is added, with `PrepareStmt`",
	story: "A migration adds a column from another process. Statements that select all columns were prepared before, and the servers refuse to run them. GORM keeps what it has prepared, so that it fails again and again, as it does with one server.",
	ours:  "A read that fails so is prepared anew and run again; after a change of the schema by this process nothing that was prepared is used any more, on any server.",
	held:  []test{{"trap_migrator_test.go", "TestT28PreparedStatementsAfterDDL"}},
	show:  showSchemaChange,
}

func showSchemaChange(ctx context.Context, s *stage.Stage, sz size) (pair, error) {
	if err := s.Prepare(ctx, orders+"; INSERT INTO orders (customer) VALUES (1)"); err != nil {
		return pair{}, err
	}
	prepared := func(cfg *gorm.Config) { cfg.PrepareStmt = true }
	naive, err := s.OpenDSN(s.Cluster.Primary().DSNFor(s.Database), prepared)
	if err != nil {
		return pair{}, err
	}
	if err := s.UseDBResolver(naive, s.Cluster.Replicas()...); err != nil {
		return pair{}, err
	}
	routed, err := s.OpenDSN(s.Cluster.Primary().DSNFor(s.Database), prepared)
	if err != nil {
		return pair{}, err
	}
	if _, err := s.UseSplit(ctx, routed, nil, s.Cluster.Replicas()...); err != nil {
		return pair{}, err
	}
	plain, err := s.OpenDSN(s.Cluster.Primary().DSNFor(s.Database), prepared)
	if err != nil {
		return pair{}, err
	}
	read := func(db *gorm.DB) (failed tally) {
		for range sz.reads {
			failed.add(false, db.WithContext(stage.Customer(ctx)).Find(&[]order{}).Error)
		}
		return failed
	}
	for _, db := range []*gorm.DB{naive, routed, plain} {
		if t := read(db); t.first != nil {
			return pair{}, t.first
		}
	}
	if err := s.Prepare(ctx, "ALTER TABLE orders ADD COLUMN note text"); err != nil {
		return pair{}, err
	}
	lost, kept, alone := read(naive), read(routed), read(plain)
	p := pair{lost.cell("fail", lost.all() && alone.all()), kept.cell("fail", kept.none())}
	p.dbresolver.says += fmt.Sprintf(" (without replicas %s of %s)", number(alone.n), number(alone.of))
	return p, nil
}
