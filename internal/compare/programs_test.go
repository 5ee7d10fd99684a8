package compare

import (
	"context"
	"time"

	"gorm.io/gorm"
)

// programs are all programs, by what they are about. Those that leave their
// session unsure of what was written come last: readsplit's reads stay on the
// primary for a while then, where there is little to compare.
var programs = [][]program{
	wantedPrograms, isolationPrograms, createPrograms, upsertPrograms, queryPrograms, scanPrograms, rowPrograms, findOrPrograms, updatePrograms,
	savePrograms, deletePrograms, associationPrograms, preloadPrograms, joinPrograms, errorPrograms, genericPrograms, sessionPrograms, hookPrograms,
	typePrograms, togetherPrograms, oddPrograms, migratorPrograms, transactionPrograms, callbackPrograms, rawPrograms, handlePrograms, cancelPrograms,
}

// ptr returns a pointer to a value.
func ptr[T any](v T) *T { return &v }

// one returns a statement that has run, with what it has filled in.
func one(f func(db *gorm.DB) (tx *gorm.DB, filled any)) func(*run) {
	return func(r *run) {
		tx, filled := f(r.db)
		r.did(tx, filled)
	}
}

// find runs Find over a chain, in the order of the key.
func find[T any](chain func(db *gorm.DB) *gorm.DB) func(*run) {
	return func(r *run) {
		var all []T
		r.did(chain(r.db).Find(&all), all)
	}
}

// users finds users in the order of the key.
func users(chain func(db *gorm.DB) *gorm.DB) func(*run) {
	return find[User](func(db *gorm.DB) *gorm.DB { return chain(db).Order("users.id") })
}

// then runs one program after another.
func then(all ...func(*run)) func(*run) {
	return func(r *run) {
		for _, f := range all {
			f(r)
		}
	}
}

// names reads the names of all users, deleted ones too, as they are now.
func names(r *run) {
	var all []string
	r.did(r.db.Unscoped().Model(&User{}).Order("id").Pluck("name", &all), all)
}

// soon is a context that ends while a statement runs that takes longer. Where
// exactly it is then is chance.
func soon(r *run) (context.Context, context.CancelFunc) {
	r.raced = true
	return context.WithTimeout(r.ctx, 50*time.Millisecond)
}

// connected works on one connection, with a handle that is fresh for each
// statement: the one that GORM passes is not.
func connected(r *run, work func(tx *gorm.DB)) {
	r.saw(r.db.Connection(func(tx *gorm.DB) error {
		work(tx.Session(&gorm.Session{NewDB: true}))
		return nil
	}))
}

// slowly is a read that takes seconds: it says nothing but reading.
const slowly = "SELECT count(*) FROM generate_series(1, 30000000)"
