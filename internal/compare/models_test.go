package compare

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// User has one of everything that GORM can do with a field or an association.
type User struct {
	gorm.Model
	Name      string  `gorm:"size:20;not null"`
	Email     *string `gorm:"unique"`
	Age       int
	Active    sql.NullBool
	Score     float64 `gorm:"default:1.5"`
	Birthday  *time.Time
	Address   Address           `gorm:"embedded;embeddedPrefix:address_"`
	Tags      []string          `gorm:"serializer:json"`
	Settings  map[string]string `gorm:"serializer:gob"`
	Extra     Extra
	CompanyID *uint
	Company   *Company
	ManagerID *uint
	Manager   *User
	Team      []User `gorm:"foreignKey:ManagerID"`
	Account   Account
	Pets      []Pet
	Toys      []Toy      `gorm:"polymorphic:Owner"`
	Languages []Language `gorm:"many2many:user_languages"`
}

// Address is embedded.
type Address struct {
	Street string
	City   sql.NullString
}

// Company is what users belong to.
type Company struct {
	ID   uint
	Name string `gorm:"uniqueIndex"`
	Size int    `gorm:"check:size_not_negative,size >= 0"`
}

// Account is what a user has one of.
type Account struct {
	ID     uint
	UserID *uint
	Number string
	Money  Money
}

// Pet is what a user has many of.
type Pet struct {
	ID     uint
	UserID *uint
	Name   string
	Toy    Toy `gorm:"polymorphic:Owner"`
}

// Toy belongs to a user or to a pet.
type Toy struct {
	ID        uint
	Name      string
	OwnerID   uint
	OwnerType string
}

// Language has a key that is no number.
type Language struct {
	Code string `gorm:"primaryKey"`
	Name string
}

// Line has a key of two columns.
type Line struct {
	OrderID int `gorm:"primaryKey;autoIncrement:false"`
	Number  int `gorm:"primaryKey;autoIncrement:false"`
	Text    string
	Version int
}

// Note has no key.
type Note struct {
	Text string
	At   time.Time
}

// Hooked tells about every hook, and does in it what the run says.
type Hooked struct {
	ID   uint
	Name string
	Seen int
}

func hook(tx *gorm.DB, name string, h *Hooked) error {
	r := runOf(tx)
	r.add("hook %s of %d %q, table %q", name, h.ID, h.Name, tx.Statement.Table)
	if f, ok := tx.Statement.Context.Value(hookKey(name)).(func(*gorm.DB, *Hooked) error); ok {
		return f(tx, h)
	}
	return nil
}

// hookKey is under what a context holds what a hook does.
type hookKey string

// BeforeSave and the others are GORM's hooks.
func (h *Hooked) BeforeSave(tx *gorm.DB) error   { return hook(tx, "BeforeSave", h) }
func (h *Hooked) AfterSave(tx *gorm.DB) error    { return hook(tx, "AfterSave", h) }
func (h *Hooked) BeforeCreate(tx *gorm.DB) error { return hook(tx, "BeforeCreate", h) }
func (h *Hooked) AfterCreate(tx *gorm.DB) error  { return hook(tx, "AfterCreate", h) }
func (h *Hooked) BeforeUpdate(tx *gorm.DB) error { return hook(tx, "BeforeUpdate", h) }
func (h *Hooked) AfterUpdate(tx *gorm.DB) error  { return hook(tx, "AfterUpdate", h) }
func (h *Hooked) BeforeDelete(tx *gorm.DB) error { return hook(tx, "BeforeDelete", h) }
func (h *Hooked) AfterDelete(tx *gorm.DB) error  { return hook(tx, "AfterDelete", h) }
func (h *Hooked) AfterFind(tx *gorm.DB) error    { return hook(tx, "AfterFind", h) }

// Money is stored as cents.
type Money struct{ Cents int64 }

// Scan implements sql.Scanner.
func (m *Money) Scan(v any) error {
	cents, ok := v.(int64)
	if !ok && v != nil {
		return fmt.Errorf("money from a %T", v)
	}
	m.Cents = cents
	return nil
}

// Value implements driver.Valuer.
func (m Money) Value() (driver.Value, error) {
	if m.Cents < 0 {
		return nil, errApplication
	}
	return m.Cents, nil
}

// GormDataType is the column's type.
func (Money) GormDataType() string { return "bigint" }

// Extra is JSON.
type Extra map[string]any

// Scan implements sql.Scanner.
func (e *Extra) Scan(v any) error {
	switch x := v.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(x), e)
	case []byte:
		return json.Unmarshal(x, e)
	}
	return fmt.Errorf("extra from a %T", v)
}

// Value implements driver.Valuer.
func (e Extra) Value() (driver.Value, error) {
	if e == nil {
		return nil, nil
	}
	b, err := json.Marshal(e)
	return string(b), err
}

// GormDataType is the column's type.
func (Extra) GormDataType() string { return "jsonb" }

var tables = []any{&Company{}, &Language{}, &User{}, &Account{}, &Pet{}, &Toy{}, &Line{}, &Note{}, &Hooked{}}

// moreTables has what AutoMigrate cannot make: a constraint that is checked at
// COMMIT, a table that replicas cannot read, a function
// that writes.
const moreTables = `
CREATE TABLE parents (id bigserial PRIMARY KEY, name text);
CREATE TABLE children (id bigserial PRIMARY KEY, parent_id bigint REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED);
CREATE UNLOGGED TABLE drafts (id bigserial PRIMARY KEY, text text);
CREATE FUNCTION note(t text) RETURNS bigint LANGUAGE sql AS 'INSERT INTO notes (text) VALUES (t); SELECT count(*) FROM notes';
CREATE VIEW adults AS SELECT id, name, age FROM users WHERE age >= 18 AND deleted_at IS NULL;
CREATE FUNCTION no_older() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.seen > 100 THEN RAISE EXCEPTION 'seen too often: %', NEW.seen USING ERRCODE = 'ZZ001', HINT = 'look away'; END IF; RETURN NEW; END $$;
CREATE TRIGGER no_older BEFORE INSERT OR UPDATE ON hookeds FOR EACH ROW EXECUTE FUNCTION no_older();
` + harness
