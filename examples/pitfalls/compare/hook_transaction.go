package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var hookTransaction = behaviour{
	name:  "hook_transaction",
	title: "A transaction in `AfterFind`, in `FindInBatches`, or on a result",
	story: "A hook counts how often a row was read; a batch is marked as done; a handler goes on with the handle that it has. All three begin their transaction on the server that has just answered, which is a replica. Servers are well.",
	ours:  "A transaction begins on the primary, whatever ran before on the handle, unless it says that it only reads.",
	held:  []test{{"trap_transaction_test.go", "TestT01TransactionsBegunFromReads"}},
	show:  showHookTransaction,
}

// visited counts in a hook who looked at it.
type visited struct {
	ID int64
}

func (visited) TableName() string { return "pages" }

type hookKey struct{}

// AfterFind does what the context of the statement says.
func (visited) AfterFind(tx *gorm.DB) error {
	if hook, ok := tx.Statement.Context.Value(hookKey{}).(func(tx *gorm.DB) error); ok {
		return hook(tx)
	}
	return nil
}

func showHookTransaction(ctx context.Context, s *stage.Stage, _ size) (pair, error) {
	const tries = 20
	if err := s.Prepare(ctx, `CREATE TABLE pages (id bigserial PRIMARY KEY); INSERT INTO pages DEFAULT VALUES; CREATE TABLE visits (page bigint)`); err != nil {
		return pair{}, err
	}
	naive, routed, err := both(ctx, s, nil)
	if err != nil {
		return pair{}, err
	}
	visit := func(tx *gorm.DB) error {
		return tx.Session(&gorm.Session{NewDB: true}).Transaction(func(tx *gorm.DB) error { return tx.Exec("INSERT INTO visits VALUES (1)").Error })
	}
	ways := []func(db *gorm.DB) error{
		func(db *gorm.DB) error {
			return db.WithContext(context.WithValue(db.Statement.Context, hookKey{}, visit)).First(&visited{}).Error
		},
		func(db *gorm.DB) error {
			return db.FindInBatches(&[]visited{}, 10, func(tx *gorm.DB, _ int) error { return visit(tx) }).Error
		},
		func(db *gorm.DB) error { return visit(db.Find(&[]visited{})) },
	}
	return each(naive, routed, "fail", func(db *gorm.DB, _ int) (failed tally, err error) {
		for _, way := range ways {
			for range tries {
				failed.add(false, way(db.WithContext(stage.Customer(ctx))))
			}
		}
		return failed, nil
	})
}
