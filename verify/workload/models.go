package workload

import (
	"context"

	"gorm.io/gorm"
)

// Register is a value with a version.
type Register struct {
	ID      int64 `gorm:"primaryKey"`
	Version int64
	Value   string
	Server  string  `gorm:"->;-:migration"` // who answered, as the server says
	Entries []Entry `gorm:"foreignKey:RegisterID"`
}

// Entry is one value of a list.
type Entry struct {
	ID         int64 `gorm:"primaryKey"`
	RegisterID int64
	Value      string
	Server     string `gorm:"->;-:migration"`
}

// Place is filled once, by FirstOrCreate.
type Place struct {
	ID    int64 `gorm:"primaryKey"`
	Name  string
	Value string
}

// Hooked is a register whose hook reads before it is written.
type Hooked struct {
	ID      int64 `gorm:"primaryKey"`
	Version int64
	Value   string
}

// TableName implements schema.Tabler.
func (Hooked) TableName() string { return "registers" }

type hookKey struct{}

// BeforeUpdate reads the register on the handle that GORM gives to hooks.
func (h *Hooked) BeforeUpdate(tx *gorm.DB) error {
	if hook, ok := tx.Statement.Context.Value(hookKey{}).(func(tx *gorm.DB)); ok {
		hook(tx)
	}
	return nil
}

func withHook(ctx context.Context, hook func(tx *gorm.DB)) context.Context {
	return context.WithValue(ctx, hookKey{}, hook)
}

// served is the column that says who answered.
const served = "*, current_setting('cluster_name') AS server"
