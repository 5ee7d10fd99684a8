package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var firstOrCreate = behaviour{
	name:  "first_or_create",
	title: "`FirstOrCreate` of a row that exists; replay paused",
	story: "A row that somebody has made a moment ago is looked for, and made where it is not found. `FirstOrCreate` is a SELECT and an INSERT: the first runs on a replica that does not have the row, the second on the primary that does. " +
		"Where no constraint forbids it there are two of them afterwards, for good; where one does, the call fails.",
	ours: "A read on which a write depends runs where the write will: on the primary.",
	held: []test{{"trap_hook_test.go", "TestFirstOrCreateLooksOnThePrimary"}},
	show: showFirstOrCreate,
}

// tag may be there twice, and account may not.
type tag struct {
	ID   int64
	Name string
}

type account struct {
	ID   int64
	Name string
}

func showFirstOrCreate(ctx context.Context, s *stage.Stage, _ size) (pair, error) {
	const rows = 30
	if err := s.Prepare(ctx, `CREATE TABLE tags (id bigserial PRIMARY KEY, name text); CREATE TABLE accounts (id bigserial PRIMARY KEY, name text UNIQUE)`); err != nil {
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
	names := func(nth int) (all []string) {
		for i := range rows {
			all = append(all, string(rune('A'+nth))+number(i))
		}
		return all
	}
	var failed [2]tally
	twice, err := each(naive, routed, "rows made twice", func(db *gorm.DB, nth int) (doubled tally, err error) {
		for _, name := range names(nth) {
			if err := past.Exec("INSERT INTO tags (name) VALUES (?)", name).Exec("INSERT INTO accounts (name) VALUES (?)", name).Error; err != nil {
				return doubled, err
			}
			if err := db.WithContext(stage.Customer(ctx)).Where(tag{Name: name}).FirstOrCreate(&tag{}).Error; err != nil {
				return doubled, err
			}
			failed[nth].add(false, db.WithContext(stage.Customer(ctx)).Where(account{Name: name}).FirstOrCreate(&account{}).Error)
			var n int64
			if err := past.Model(&tag{}).Where("name = ?", name).Count(&n).Error; err != nil {
				return doubled, err
			}
			doubled.add(n != 1, nil)
		}
		return doubled, nil
	})
	also := pair{failed[0].cell("calls fail", failed[0].all()), failed[1].cell("calls fail", failed[1].none())}
	return twice.and(also, "; under a constraint "), err
}
