package matrix

import (
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// creates are the ways to insert.
func creates() []*cell {
	return area("Create",
		write("Create", func(p *probe) {
			a := author{Name: "Dee"}
			p.rows(1, p.db.Create(&a))
			require.EqualValues(p, 101, a.ID)
		}),
		write("Create a slice", func(p *probe) { p.rows(2, p.db.Create(&[]author{{Name: "Dee"}, {Name: "Eve"}})) }),
		write("Create a slice of pointers", func(p *probe) { p.rows(2, p.db.Create([]*author{{Name: "Dee"}, {Name: "Eve"}})) }),
		write("Create with Select", func(p *probe) { p.rows(1, p.db.Select("Name").Create(&author{Name: "Dee", Age: 9})) }),
		write("Create with Omit", func(p *probe) { p.rows(1, p.db.Omit("Age").Create(&author{Name: "Dee", Age: 9})) }),
		write("Create a map", func(p *probe) { p.rows(1, p.db.Model(&author{}).Create(map[string]any{"Name": "Dee"})) }),
		write("Create maps", func(p *probe) {
			p.rows(2, p.db.Model(&author{}).Create(&[]map[string]any{{"Name": "Dee"}, {"Name": "Eve"}}))
		}),
		write("Create a map in a Table", func(p *probe) { p.rows(1, p.db.Table("authors").Create(map[string]any{"name": "Dee"})) }),
		write("Create with an expression", func(p *probe) {
			p.rows(1, p.db.Model(&book{}).Create(map[string]any{"Title": clause.Expr{SQL: "upper(?)", Vars: []any{"x"}}}))
		}),
		write("Create with a sub-query", func(p *probe) {
			p.rows(1, p.db.Model(&book{}).Create(map[string]any{
				"Title": "x", "Price": clause.Expr{SQL: "(?)", Vars: []any{p.db.Model(&book{}).Select("max(price)")}},
			}))
		}),
		write("Create what the database completes", func(p *probe) {
			a := account{Name: "new"}
			p.rows(1, p.db.Create(&a))
			require.Equal(p, "code101", a.Code)
		}),
		write("Create with Returning", func(p *probe) { p.rows(1, p.db.Clauses(clause.Returning{}).Create(&author{Name: "Dee"})) }),
		write("Create with some columns Returning", func(p *probe) {
			p.rows(1, p.db.Clauses(clause.Returning{Columns: []clause.Column{{Name: "id"}, {Name: "age"}}}).Create(&author{Name: "Dee"}))
		}),
		write("CreateInBatches, several", func(p *probe) {
			p.rows(3, p.db.CreateInBatches(&[]tag{{Name: "a"}, {Name: "b"}, {Name: "c"}}, 2))
		}),
		write("CreateInBatches, one", func(p *probe) { p.rows(2, p.db.CreateInBatches(&[]tag{{Name: "a"}, {Name: "b"}}, 5)) }),
		write("Create with CreateBatchSize", func(p *probe) {
			p.rows(3, p.db.Session(&gorm.Session{CreateBatchSize: 2}).Create(&[]tag{{Name: "a"}, {Name: "b"}, {Name: "c"}}))
		}),
		write("Create with has one", func(p *probe) { p.rows(1, p.db.Create(&author{Name: "Dee", Profile: &profile{Bio: "x"}})) }),
		write("Create with has many", func(p *probe) {
			p.rows(1, p.db.Create(&author{Name: "Dee", Books: []book{{Title: "x"}, {Title: "y"}}}))
		}),
		write("Create with belongs to", func(p *probe) { p.rows(1, p.db.Create(&book{Title: "x", Author: &author{Name: "Dee"}})) }),
		write("Create with many to many", func(p *probe) {
			p.rows(1, p.db.Create(&book{Title: "x", Tags: []tag{{Name: "new"}, {ID: 1, Name: "red"}}}))
		}),
		write("Create with polymorphic ones", func(p *probe) {
			p.rows(1, p.db.Create(&author{Name: "Dee", Notes: []note{{Text: "x"}}}))
			p.rows(1, p.db.Create(&book{Title: "x", Cover: &cover{Image: "x.png"}}))
		}),
		write("Create a tree", func(p *probe) {
			p.rows(1, p.db.Create(&author{
				Name: "Dee", Profile: &profile{Bio: "x"},
				Books: []book{{Title: "x", Tags: []tag{{Name: "new"}}, Cover: &cover{Image: "x.png"}}},
			}))
		}),
		write("Create with Omit of an association", func(p *probe) {
			p.rows(1, p.db.Omit("Books").Create(&author{Name: "Dee", Books: []book{{Title: "x"}}}))
		}),
		write("Create with Omit of clause.Associations", func(p *probe) {
			p.rows(1, p.db.Omit(clause.Associations).Create(&author{Name: "Dee", Books: []book{{Title: "x"}}}))
		}),
		write("Create a soft-deleting model", func(p *probe) { p.rows(1, p.db.Create(&article{Title: "x"})) }),
		mixed("Create that fails", `p`, func(p *probe) { require.Error(p, p.db.Create(&author{ID: 1, Name: "Ann"}).Error) }),
		mixed("Create, then Find", `PR`, func(p *probe) {
			p.rows(1, p.db.Create(&author{Name: "Dee"}))
			p.rows(4, p.db.Find(&[]author{}))
		}),
	)
}

// upserts insert or update in one statement, and Save is an upsert where the row is not there.
func upserts() []*cell {
	byName := []clause.Column{{Name: "name"}}
	return area("Upsert and Save",
		write("OnConflict DoNothing", func(p *probe) { p.rows(0, p.db.Clauses(clause.OnConflict{DoNothing: true}).Create(&tag{Name: "red"})) }),
		write("OnConflict UpdateAll", func(p *probe) {
			p.rows(1, p.db.Clauses(clause.OnConflict{Columns: byName, UpdateAll: true}).Create(&author{Name: "Ann", Age: 41}))
		}),
		write("OnConflict DoUpdates", func(p *probe) {
			p.rows(1, p.db.Clauses(clause.OnConflict{Columns: byName, DoUpdates: clause.Assignments(map[string]any{"age": 1})}).Create(&author{Name: "Ann"}))
		}),
		write("OnConflict with Where and Returning", func(p *probe) {
			p.ok(p.db.Clauses(clause.OnConflict{
				Columns: byName, DoUpdates: clause.AssignmentColumns([]string{"age"}),
				Where: clause.Where{Exprs: []clause.Expression{clause.Lt{Column: "authors.age", Value: 50}}},
			}, clause.Returning{}).Create(&author{Name: "Ann", Age: 41}).Error)
		}),
		write("Save a new one", func(p *probe) { p.rows(1, p.db.Save(&author{Name: "Dee"})) }),
		write("Save one that is there", func(p *probe) { p.rows(1, p.db.Save(&author{ID: 1, Name: "Anna", Age: 40})) }),
		write("Save one with a key that is not there", func(p *probe) { p.rows(1, p.db.Save(&author{ID: 50, Name: "Dee"})) }),
		write("Save a slice", func(p *probe) { p.rows(2, p.db.Save(&[]author{{ID: 1, Name: "Anna"}, {Name: "Dee"}})) }),
		write("Save with Select", func(p *probe) { p.rows(1, p.db.Select("Age").Save(&author{ID: 1, Age: 41})) }),
		write("Save with associations", func(p *probe) {
			p.rows(1, p.db.Save(&author{ID: 1, Name: "Ann", Profile: &profile{ID: 1, Bio: "new"}, Books: []book{{ID: 1, Title: "uno"}, {Title: "x"}}}))
		}),
		write("Save with FullSaveAssociations", func(p *probe) {
			full := p.db.Session(&gorm.Session{FullSaveAssociations: true})
			p.rows(1, full.Save(&author{ID: 1, Name: "Ann", Books: []book{{ID: 1, Title: "uno", Tags: []tag{{ID: 1, Name: "crimson"}}}}}))
		}),
		mixed("Save what was read", `RPP`, func(p *probe) {
			var a author
			p.rows(1, p.db.First(&a))
			a.Age++
			p.rows(1, p.db.Save(&a))
			p.rows(1, p.db.First(&a))
			require.Equal(p, 41, a.Age)
		}).with(independent),
	)
}
