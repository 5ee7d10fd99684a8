package matrix

import (
	"context"
	"time"

	"gorm.io/gorm"
)

// author has an association of every kind.
type author struct {
	ID      int64
	Name    string
	Age     int
	Profile *profile // has one
	Books   []book   // has many
	Notes   []note   `gorm:"polymorphic:Owner"` // polymorphic, has many
}

type profile struct {
	ID       int64
	Bio      string
	AuthorID int64
}

type book struct {
	ID       int64
	Title    string
	Price    int
	AuthorID *int64
	Author   *author // belongs to
	Tags     []tag   `gorm:"many2many:book_tags"`
	Cover    *cover  `gorm:"polymorphic:Owner"` // polymorphic, has one
}

type tag struct {
	ID    int64
	Name  string
	Color string
}

type note struct {
	ID        int64
	Text      string
	OwnerID   *int64
	OwnerType *string
}

type cover struct {
	ID        int64
	Image     string
	OwnerID   *int64
	OwnerType *string
}

// article is deleted softly and has times.
type article struct {
	ID        int64
	Title     string
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt gorm.DeletedAt
}

// account has a value that the database makes.
type account struct {
	ID   int64
	Name string
	Code string `gorm:"default:gen_code()"`
}

// diary has every hook there is; what they do comes with the context.
type diary struct {
	ID    int64
	Title string
}

type hooksKey struct{}

// hooks are what the hooks of a diary do, by their names.
type hooks map[string]func(tx *gorm.DB) error

func withHooks(ctx context.Context, h hooks) context.Context {
	return context.WithValue(ctx, hooksKey{}, h)
}

func runHook(tx *gorm.DB, name string) error {
	h, _ := tx.Statement.Context.Value(hooksKey{}).(hooks)
	do := h[name]
	if do == nil {
		return nil
	}
	// What the hook does runs without hooks of its own: it could not end.
	return do(tx.Session(&gorm.Session{NewDB: true, Context: withHooks(tx.Statement.Context, nil)}))
}

func (*diary) BeforeSave(tx *gorm.DB) error   { return runHook(tx, "BeforeSave") }
func (*diary) AfterSave(tx *gorm.DB) error    { return runHook(tx, "AfterSave") }
func (*diary) BeforeCreate(tx *gorm.DB) error { return runHook(tx, "BeforeCreate") }
func (*diary) AfterCreate(tx *gorm.DB) error  { return runHook(tx, "AfterCreate") }
func (*diary) BeforeUpdate(tx *gorm.DB) error { return runHook(tx, "BeforeUpdate") }
func (*diary) AfterUpdate(tx *gorm.DB) error  { return runHook(tx, "AfterUpdate") }
func (*diary) BeforeDelete(tx *gorm.DB) error { return runHook(tx, "BeforeDelete") }
func (*diary) AfterDelete(tx *gorm.DB) error  { return runHook(tx, "AfterDelete") }
func (*diary) AfterFind(tx *gorm.DB) error    { return runHook(tx, "AfterFind") }

// shelf is a table for migrators, which no other cell uses.
type shelf struct {
	ID   int64
	Name string `gorm:"index;check:name_given,name <> ''"`
}

// widerShelf is the same table after a change.
type widerShelf struct {
	ID    int64
	Name  string `gorm:"index;size:200"`
	Width int
}

func (widerShelf) TableName() string { return "shelves" }

const (
	makeShelves = `CREATE TABLE shelves (id bigserial PRIMARY KEY, name text, CONSTRAINT name_given CHECK (name <> ''));
CREATE INDEX idx_shelves_name ON shelves (name)`
	dropShelves = `DROP TABLE IF EXISTS shelves, boards CASCADE`
)

// schemaSQL makes the tables, and reset_all, which makes the data as they were.
const schemaSQL = `
CREATE TABLE authors (id bigserial PRIMARY KEY, name text UNIQUE, age int NOT NULL DEFAULT 0);
CREATE TABLE profiles (id bigserial PRIMARY KEY, bio text, author_id bigint);
CREATE TABLE books (id bigserial PRIMARY KEY, title text, price int NOT NULL DEFAULT 0, author_id bigint);
CREATE TABLE tags (id bigserial PRIMARY KEY, name text UNIQUE, color text);
CREATE TABLE book_tags (book_id bigint, tag_id bigint, PRIMARY KEY (book_id, tag_id));
CREATE TABLE notes (id bigserial PRIMARY KEY, text text, owner_id bigint, owner_type text);
CREATE TABLE covers (id bigserial PRIMARY KEY, image text, owner_id bigint, owner_type text);
CREATE TABLE articles (id bigserial PRIMARY KEY, title text, created_at timestamptz, updated_at timestamptz, deleted_at timestamptz);
CREATE TABLE diaries (id bigserial PRIMARY KEY, title text);
CREATE SEQUENCE ticks;
CREATE FUNCTION gen_code() RETURNS text LANGUAGE sql AS $$ SELECT 'code' || nextval('ticks') $$;
CREATE TABLE accounts (id bigserial PRIMARY KEY, name text, code text NOT NULL DEFAULT gen_code());
CREATE VIEW book_list AS SELECT b.id, b.title, a.name FROM books b LEFT JOIN authors a ON a.id = b.author_id;
CREATE VIEW ticking AS SELECT nextval('ticks') AS tick;
CREATE FUNCTION note_visit(what text) RETURNS bigint LANGUAGE sql AS $$ INSERT INTO notes (text) VALUES (what) RETURNING id $$;
CREATE PROCEDURE note_call(what text) LANGUAGE sql AS $$ INSERT INTO notes (text) VALUES (what) $$;
CREATE FUNCTION reset_all() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM authors; DELETE FROM profiles; DELETE FROM books; DELETE FROM tags; DELETE FROM book_tags;
  DELETE FROM notes; DELETE FROM covers; DELETE FROM articles; DELETE FROM diaries; DELETE FROM accounts;
  INSERT INTO authors VALUES (1, 'Ann', 40), (2, 'Bob', 50), (3, 'Cem', 60);
  INSERT INTO profiles VALUES (1, 'writes', 1), (2, 'paints', 2);
  INSERT INTO books VALUES (1, 'one', 10, 1), (2, 'two', 20, 1), (3, 'three', 30, 2);
  INSERT INTO tags VALUES (1, 'red', ''), (2, 'blue', ''), (3, 'old', '');
  INSERT INTO book_tags VALUES (1, 1), (1, 2), (2, 2);
  INSERT INTO notes VALUES (1, 'first', 1, 'authors'), (2, 'second', 1, 'authors'), (3, 'loose', NULL, NULL);
  INSERT INTO covers VALUES (1, 'a.png', 1, 'books');
  INSERT INTO articles VALUES (1, 'live', now(), now(), NULL), (2, 'gone', now(), now(), now());
  INSERT INTO diaries VALUES (1, 'monday'), (2, 'tuesday');
  INSERT INTO accounts VALUES (1, 'main', 'm');
  PERFORM setval(c.oid, 100) FROM pg_class c WHERE c.relkind = 'S' AND c.relnamespace = 'public'::regnamespace;
END $$;`
