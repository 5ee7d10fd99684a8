package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var writeHook = behaviour{
	name:  "write_hook",
	title: "A hook of a write reads, with `SkipDefaultTransaction`; replay paused",
	story: "`AfterSave` of a line adds up the lines of its basket and stores the total. `SkipDefaultTransaction`, which GORM's guide to performance recommends, takes away the transaction that kept the hook's reads on the primary, " +
		"and what they do not see becomes what is stored.",
	ours: "What hooks of a write read comes from the primary, with and without a transaction.",
	held: []test{{"trap_hook_test.go", "TestT05HooksOfAWrite"}},
	show: showWriteHook,
}

// line is a part of a basket, which keeps a total.
type line struct {
	ID     int64
	Basket int64
	Price  int64
}

// AfterSave stores the total of the basket.
func (l *line) AfterSave(tx *gorm.DB) error {
	var total int64
	if err := tx.Model(&line{}).Where("basket = ?", l.Basket).Select("coalesce(sum(price), 0)").Scan(&total).Error; err != nil {
		return err
	}
	return tx.Exec("INSERT INTO baskets VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET total = excluded.total", l.Basket, total).Error
}

func showWriteHook(ctx context.Context, s *stage.Stage, _ size) (pair, error) {
	const baskets = 50
	if err := s.Prepare(ctx, `CREATE TABLE lines (id bigserial PRIMARY KEY, basket bigint, price bigint); CREATE TABLE baskets (id bigint PRIMARY KEY, total bigint)`); err != nil {
		return pair{}, err
	}
	naive, routed, err := both(ctx, s, nil)
	if err != nil {
		return pair{}, err
	}
	past, err := s.Open(s.Cluster.Primary())
	if err != nil {
		return pair{}, err
	}
	if err := s.Pause(ctx); err != nil {
		return pair{}, err
	}
	return each(naive, routed, "totals stored wrong", func(db *gorm.DB, nth int) (wrong tally, err error) {
		for b := baskets * nth; b < baskets*(nth+1); b++ {
			db := db.WithContext(stage.Customer(ctx)).Session(&gorm.Session{SkipDefaultTransaction: true})
			for _, price := range []int64{30, 70} {
				if err := db.Create(&line{Basket: int64(b), Price: price}).Error; err != nil {
					return wrong, err
				}
			}
			var total int64
			if err := past.Raw("SELECT total FROM baskets WHERE id = ?", b).Scan(&total).Error; err != nil {
				return wrong, err
			}
			wrong.add(total != 100, nil)
		}
		return wrong, nil
	})
}
