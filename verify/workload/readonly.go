package workload

import (
	"context"
	"database/sql"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/verify/history"
)

// repeatableRead reads a register and a list in one snapshot.
func (c *client) repeatableRead(ctx context.Context) {
	id := c.look("l", c.list)
	e := c.begin(history.KindRead, "repeatable_read")
	e.Together, e.Free, e.InTx = history.Snapshot, true, true // it is the application's transaction
	var r Register
	var all listing
	var first *gorm.DB
	err := c.handle(c.asked(ctx, e)).Transaction(func(tx *gorm.DB) error {
		if first = tx.Select(served).Take(&r, id); first.Error != nil {
			return first.Error
		}
		return tx.Select(served).Where("register_id = ?", id).Order("id").Find((*[]Entry)(&all)).Error
	}, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	e.Server = r.Server
	e.Reads = []history.Read{{Key: register(id), Version: r.Version, Value: r.Value}, all.read(id)}
	if r.Server == "" {
		e.Reads = []history.Read{{Key: register(id), Version: -1}}
	}
	_ = c.ended(e, first, err)
}

// readCommitted reads twice in one transaction, and writes in between outside of it.
// What was written has to be seen the second time.
func (c *client) readCommitted(ctx context.Context) {
	id := c.register()
	_ = c.handle(ctx).Transaction(func(tx *gorm.DB) error {
		read := func() error {
			e := c.begin(history.KindRead, "read_committed")
			e.Free, e.InTx = true, true
			var r Register
			return c.took(e, id, &r, tx.Select(served).Take(&r, id))
		}
		if err := read(); err != nil {
			return err
		}
		if c.rng.IntN(2) == 0 {
			c.write("beside", []history.Write{{Key: register(id), Value: c.value()}}, func(w []history.Write) error {
				return c.handle(ctx).Exec(setRegister, w[0].Value, id).Error
			})
		}
		return read()
	}, &sql.TxOptions{ReadOnly: true})
}
