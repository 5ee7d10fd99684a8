// Package dbresolver takes the place of gorm.io/plugin/dbresolver in an
// application that moves over to readsplit: change the import path, and what was
//
//	db.Use(dbresolver.Register(dbresolver.Config{Replicas: replicas}).SetMaxOpenConns(50))
//
// goes through readsplit, with everything that readsplit promises. The names are
// those of dbresolver v1.6, and the values are the same: a Config, a Policy or a
// clause of gorm.io/plugin/dbresolver itself is accepted as well, so that files
// can be changed one at a time.
//
// What differs is told in docs/migrate-from-dbresolver.md.
package dbresolver
