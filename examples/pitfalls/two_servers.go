package main

import (
	"context"
	"errors"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var twoServers = pitfall{
	name:  "two_servers",
	title: "A transaction across two servers",
	done: "First: a balance is read, changed and saved, 20 times 10 out of an account of 100, while replay stands still; the reading half runs on a replica, the writing half on the primary. " +
		"Second: 10 orders are paid on one primary and invoiced on another, in two transactions of which the second cannot commit (a deferred constraint).",
	instead: "A read that its session's write precedes sees it, and a read inside of `db.Transaction` runs where the transaction does; between several processes add a lock or a version column, as without replicas. " +
		"A transaction stays on the primary on which it began, whatever tables its statements name: what lives elsewhere is an error, and nothing is half done. Write to two databases through an outbox ([jobs.md](jobs.md)).",
	show: showTwoServers,
}

// account is what withdrawals come from.
type account struct {
	ID      int64
	Balance int64
}

// invoice is kept on a primary of its own.
type invoice struct {
	ID      int64
	OrderID int64
	Number  int64
}

func showTwoServers(ctx context.Context, s *stage.Stage) ([]finding, error) {
	covered, err := showHalves(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := s.Resume(ctx); err != nil {
		return nil, err
	}
	invoiced, err := showTwoPrimaries(ctx, s)
	return append(covered, invoiced...), err
}

// showHalves reads on a replica what is then written on the primary.
func showHalves(ctx context.Context, s *stage.Stage) ([]finding, error) {
	const tries, amount, deposit = 20, 10, 100
	if err := s.Prepare(ctx, `CREATE TABLE accounts (id bigint PRIMARY KEY, balance bigint)`); err != nil {
		return nil, err
	}
	// withdraw returns how many withdrawals were paid that the deposit did not cover.
	withdraw := func(db *gorm.DB, id int64) (uncovered int, err error) {
		paid := 0
		for range tries {
			var a account
			if err := db.First(&a, id).Error; err != nil {
				return 0, err
			}
			if a.Balance < amount {
				continue // refused
			}
			a.Balance -= amount
			if err := db.Save(&a).Error; err != nil {
				return 0, err
			}
			paid++
		}
		return max(0, paid-deposit/amount), nil
	}

	naive, err := s.DBResolver(s.Cluster.Replicas()...)
	if err != nil {
		return nil, err
	}
	routed, _, err := s.Split(ctx, nil, s.Cluster.Replicas()...)
	if err != nil {
		return nil, err
	}
	if err := routed.Create([]account{{1, deposit}, {2, deposit}}).Error; err != nil {
		return nil, err
	}
	if err := s.Pause(ctx); err != nil {
		return nil, err
	}
	lost, err := withdraw(naive.WithContext(ctx), 1)
	if err != nil {
		return nil, err
	}
	kept, err := withdraw(routed.WithContext(stage.Customer(ctx)), 2)
	const what = "withdrawals paid that the account did not cover"
	return []finding{{"dbresolver", what, lost, tries}, {"readsplit", what, kept, tries}}, err
}

// showTwoPrimaries commits on two primaries what belongs together. They are two
// databases here; two machines could not do more for it.
func showTwoPrimaries(ctx context.Context, s *stage.Stage) ([]finding, error) {
	const wanted = 10
	if err := s.Prepare(ctx, orders); err != nil {
		return nil, err
	}
	billing := s.Database + "_billing"
	if err := s.Cluster.CreateDatabase(ctx, billing); err != nil {
		return nil, err
	}
	there, err := s.OpenDSN(s.Cluster.Primary().DSNFor(billing), nil)
	if err != nil {
		return nil, err
	}
	err = there.Exec(`CREATE TABLE invoices (id bigserial PRIMARY KEY, order_id bigint, number bigint UNIQUE DEFERRABLE INITIALLY DEFERRED);
		INSERT INTO invoices (number) VALUES (1)`).Error
	if err != nil {
		return nil, err
	}
	// halves counts the orders that are there, and not invoiced.
	halves := func() (n int, err error) {
		err = s.Ask(ctx, s.Cluster.Primary(), "SELECT count(*) FROM orders", &n)
		return n, err
	}

	here, err := s.Open(s.Cluster.Primary())
	if err != nil {
		return nil, err
	}
	for i := range wanted {
		first, second := here.WithContext(ctx).Begin(), there.WithContext(ctx).Begin()
		o := order{Customer: i}
		err := errors.Join(first.Create(&o).Error, second.Create(&invoice{OrderID: o.ID, Number: 1}).Error)
		if err != nil {
			return nil, errors.Join(err, first.Rollback().Error, second.Rollback().Error)
		}
		if err := first.Commit().Error; err != nil {
			return nil, err
		}
		if second.Commit().Error == nil {
			return nil, errors.New("the number of the invoice was taken, and its commit succeeded")
		}
	}
	byHand, err := halves()
	if err != nil {
		return nil, err
	}
	if err := here.Exec("TRUNCATE orders").Error; err != nil {
		return nil, err
	}

	routed, _, err := s.Split(ctx, func(cfg *readsplit.Config) {
		cfg.Resolvers = []readsplit.Resolver{{
			Name: "billing", Tables: []any{&invoice{}},
			Primary: postgres.Open(s.Cluster.Primary().DSNFor(billing)),
		}}
	}, s.Cluster.Replicas()...)
	if err != nil {
		return nil, err
	}
	refused := 0
	for i := range wanted {
		err := routed.WithContext(stage.Customer(ctx)).Transaction(func(tx *gorm.DB) error {
			o := order{Customer: i}
			if err := tx.Create(&o).Error; err != nil {
				return err
			}
			return tx.Create(&invoice{OrderID: o.ID, Number: 1}).Error // there is no such table here
		})
		if err != nil {
			refused++
		}
	}
	left, err := halves()
	const what = "orders that are paid and not invoiced"
	return []finding{
		{"by hand", what, byHand, wanted},
		{"readsplit", what, left, wanted},
		{"readsplit", "transactions that name a table of another primary, refused", refused, wanted},
	}, err
}
