package conformance

import (
	"context"

	"gorm.io/gorm"
)

const (
	authorsTable = "conformance_authors"
	booksTable   = "conformance_books"
)

// author and book are the tables of the suite, which belong to it alone.
type author struct {
	ID    int64
	Name  string `gorm:"size:50;uniqueIndex"`
	Books []book `gorm:"foreignKey:AuthorID;constraint:-"`
}

type book struct {
	ID        int64
	Title     string `gorm:"size:50"`
	Copies    int    `gorm:"not null;default:3"`
	AuthorID  int64
	Author    *author        `gorm:"constraint:-"`
	DeletedAt gorm.DeletedAt `gorm:"index"`
}

func (*author) TableName() string { return authorsTable }
func (*book) TableName() string   { return booksTable }

// servedAuthor and servedBook are rows that say who gave them out.
type servedAuthor struct {
	ID     int64
	Name   string
	Books  []servedBook `gorm:"foreignKey:AuthorID;constraint:-"`
	Server string       `gorm:"->"`
}

type servedBook struct {
	ID        int64
	Title     string
	AuthorID  int64
	DeletedAt gorm.DeletedAt
	Server    string `gorm:"->"`
}

func (*servedAuthor) TableName() string { return authorsTable }
func (*servedBook) TableName() string   { return booksTable }

// hookedBook has hooks that a test may give with the context.
type hookedBook struct {
	ID       int64
	Title    string
	AuthorID int64
}

func (*hookedBook) TableName() string { return booksTable }

type hooks map[string]func(tx *gorm.DB) error

type hooksKey struct{}

func withHooks(ctx context.Context, h hooks) context.Context {
	return context.WithValue(ctx, hooksKey{}, h)
}

func runHook(tx *gorm.DB, name string) error {
	h, _ := tx.Statement.Context.Value(hooksKey{}).(hooks)
	if f := h[name]; f != nil {
		return f(tx)
	}
	return nil
}

// Hooks of GORM's.
func (*hookedBook) BeforeSave(tx *gorm.DB) error   { return runHook(tx, "BeforeSave") }
func (*hookedBook) AfterSave(tx *gorm.DB) error    { return runHook(tx, "AfterSave") }
func (*hookedBook) AfterCreate(tx *gorm.DB) error  { return runHook(tx, "AfterCreate") }
func (*hookedBook) BeforeUpdate(tx *gorm.DB) error { return runHook(tx, "BeforeUpdate") }
func (*hookedBook) AfterUpdate(tx *gorm.DB) error  { return runHook(tx, "AfterUpdate") }
func (*hookedBook) BeforeDelete(tx *gorm.DB) error { return runHook(tx, "BeforeDelete") }
func (*hookedBook) AfterDelete(tx *gorm.DB) error  { return runHook(tx, "AfterDelete") }
func (*hookedBook) AfterFind(tx *gorm.DB) error    { return runHook(tx, "AfterFind") }
