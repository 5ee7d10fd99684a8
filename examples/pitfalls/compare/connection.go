package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var connection = behaviour{
	name:  "connection",
	title: "`db.Connection`: SET, then `Find`",
	story: "A setting says whose rows a view shows, as policies of row-level security do. `db.Connection` is there to keep statements on one connection. The SET runs on it, and the Find leaves it for a replica, where nothing is set. Servers are well.",
	ours:  "What runs inside `db.Connection` stays on its connection. `Config.Settings` sets such things on whichever server serves, so that replicas may be used, too.",
	held:  []test{{"trap_connection_test.go", "TestT02Connection"}},
	show:  showConnection,
}

// note belongs to a tenant.
type note struct {
	ID     int64
	Tenant int64
}

func (note) TableName() string { return "my_notes" }

func showConnection(ctx context.Context, s *stage.Stage, _ size) (pair, error) {
	const tries = 20
	err := s.Prepare(ctx, `CREATE TABLE notes (id bigserial PRIMARY KEY, tenant bigint); INSERT INTO notes (tenant) VALUES (7), (8);
		CREATE VIEW my_notes AS SELECT * FROM notes WHERE tenant::text = current_setting('app.tenant', true)`)
	if err != nil {
		return pair{}, err
	}
	naive, routed, err := both(ctx, s, nil)
	if err != nil {
		return pair{}, err
	}
	return each(naive, routed, "without the setting", func(db *gorm.DB, _ int) (wrong tally, err error) {
		for range tries {
			var list []note
			err := db.WithContext(stage.Customer(ctx)).Connection(func(tx *gorm.DB) error {
				if err := tx.Exec("SET app.tenant = '7'").Error; err != nil {
					return err
				}
				if err := tx.Find(&list).Error; err != nil {
					return err
				}
				return tx.Exec("RESET app.tenant").Error
			})
			if err != nil {
				return wrong, err
			}
			wrong.add(len(list) != 1, nil)
		}
		return wrong, nil
	})
}
