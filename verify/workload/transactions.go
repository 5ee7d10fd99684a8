package workload

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/verify/history"
)

// inTransaction runs f in a transaction. An error of f is certain: no COMMIT is
// sent after it.
func (c *client) inTransaction(ctx context.Context, f func(tx *gorm.DB) error) error {
	return c.handle(ctx).Transaction(func(tx *gorm.DB) error {
		if err := f(tx); err != nil {
			return fmt.Errorf("%w: %w", errRolledBack, err)
		}
		return nil
	})
}

// transaction writes two registers and an entry, and reads one of them before.
func (c *client) transaction(ctx context.Context) {
	a, b := c.two()
	l := c.list()
	writes := []history.Write{{Key: register(a), Value: c.value()}, {Key: register(b), Value: c.value()}, {Key: list(l), Value: c.value()}}
	c.write("transaction", writes, func(w []history.Write) error {
		return c.inTransaction(ctx, func(tx *gorm.DB) error {
			if c.rng.IntN(2) == 0 {
				e := c.begin(history.KindRead, "in_transaction")
				e.Mode, e.Free, e.InTx = history.Fresh, true, true
				var r Register
				if err := c.took(e, a, &r, tx.Select(served).Take(&r, a)); err != nil {
					return err
				}
			}
			if err := tx.Exec(setRegister, w[0].Value, a).Error; err != nil {
				return err
			}
			if err := tx.Model(&Register{ID: int64(b)}).Update("value", w[1].Value).Error; err != nil {
				return err
			}
			return tx.Create(&Entry{RegisterID: int64(l), Value: w[2].Value}).Error
		})
	})
}

// post writes a register and an entry that belongs to it, as an order and its lines.
func (c *client) post(ctx context.Context) {
	id := c.list()
	value := c.value()
	c.write("post", []history.Write{{Key: register(id), Value: value}, {Key: list(id), Value: value}}, func([]history.Write) error {
		return c.inTransaction(ctx, func(tx *gorm.DB) error {
			if err := tx.Create(&Entry{RegisterID: int64(id), Value: value}).Error; err != nil {
				return err
			}
			return tx.Model(&Register{ID: int64(id)}).Update("value", value).Error
		})
	})
}

// begun begins and commits by hand.
func (c *client) begun(ctx context.Context) {
	a, b := c.two()
	writes := []history.Write{{Key: register(a), Value: c.value()}, {Key: register(b), Value: c.value()}}
	c.write("begin", writes, func(w []history.Write) error {
		tx := c.handle(ctx).Begin()
		if tx.Error != nil {
			return fmt.Errorf("%w: %w", errRolledBack, tx.Error)
		}
		for i, id := range []int{a, b} {
			if err := tx.Exec(setRegister, w[i].Value, id).Error; err != nil {
				tx.Rollback()
				return fmt.Errorf("%w: %w", errRolledBack, err)
			}
		}
		return tx.Commit().Error
	})
}

// nested rolls an inner transaction back and commits the outer one.
func (c *client) nested(ctx context.Context) {
	a, b := c.two()
	inner := c.begin(history.KindWrite, "nested_rolled_back")
	inner.Writes = []history.Write{{Key: register(b), Value: c.value()}}
	c.write("nested", []history.Write{{Key: register(a), Value: c.value()}}, func(w []history.Write) error {
		return c.inTransaction(ctx, func(tx *gorm.DB) error {
			if err := tx.Exec(setRegister, w[0].Value, a).Error; err != nil {
				return err
			}
			_ = tx.Transaction(func(tx *gorm.DB) error {
				if err := tx.Exec(setRegister, inner.Writes[0].Value, b).Error; err != nil {
					return err
				}
				return errRolledBack
			})
			return nil
		})
	})
	inner.Result, inner.Error = history.Failed, told(errRolledBack)
	c.end(inner)
}

// rollback writes and takes it back.
func (c *client) rollback(ctx context.Context) {
	c.one("rollback", func(id int64, w *history.Write) error {
		return c.inTransaction(ctx, func(tx *gorm.DB) error {
			if err := tx.Exec(setRegister, w.Value, id).Error; err != nil {
				return err
			}
			return errRolledBack
		})
	})
}

// async does not wait until its commit is on disk.
func (c *client) async(ctx context.Context) {
	id := c.register()
	e := c.begin(history.KindWrite, "async")
	e.Async = true
	e.Writes = []history.Write{{Key: register(id), Value: c.value()}}
	err := c.inTransaction(ctx, func(tx *gorm.DB) error {
		var err error
		if c.rng.IntN(2) == 0 {
			err = tx.Exec("SET LOCAL synchronous_commit TO off").Error
		} else {
			var set string
			err = tx.Raw("SELECT set_config('synchronous_commit', 'off', true)").Scan(&set).Error
		}
		if err != nil {
			return err
		}
		return tx.Exec(setRegister, e.Writes[0].Value, id).Error
	})
	e.Result, e.Error, e.Says = outcome(err), told(err), c.says(e.Way, err)
	c.end(e)
	c.wrote(e.Writes[0].Key)
}
