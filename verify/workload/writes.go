package workload

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit/verify/history"
)

// writeWays are the doors through which a GORM application writes.
var writeWays = []way{
	{"update", 4, (*client).update},
	{"exec", 5, (*client).exec},
	{"returning", 3, (*client).returning},
	{"clause_returning", 2, (*client).clauseReturning},
	{"open_rows", 3, (*client).openRows},
	{"upsert", 2, (*client).upsert},
	{"save", 2, (*client).save},
	{"create", 5, (*client).create},
	{"hook", 3, (*client).hook},
	{"place", 4, (*client).place},
	{"transaction", 5, (*client).transaction},
	{"post", 6, (*client).post},
	{"begin", 2, (*client).begun},
	{"nested", 2, (*client).nested},
	{"async", 5, (*client).async},
	{"rollback", 2, (*client).rollback},
	{"cancel", 2, (*client).cancel},
	{"connection", 2, (*client).connection},
}

const setRegister = "UPDATE registers SET value = ? WHERE id = ?"

// write records one transaction. run may fill in the versions that it is told.
func (c *client) write(way string, writes []history.Write, run func(writes []history.Write) error) *Event {
	e := c.begin(history.KindWrite, way)
	e.Writes = writes
	err := run(writes)
	e.Result, e.Error, e.Says = outcome(err), told(err), c.says(way, err)
	c.end(e)
	for _, w := range writes {
		if e.Result != history.Failed {
			c.wrote(w.Key)
		}
	}
	return e
}

// one is a write to one register.
func (c *client) one(way string, run func(id int64, w *history.Write) error) {
	id := c.register()
	c.write(way, []history.Write{{Key: register(id), Value: c.value()}}, func(w []history.Write) error {
		return run(int64(id), &w[0])
	})
}

func (c *client) update(ctx context.Context) {
	c.one("update", func(id int64, w *history.Write) error {
		return c.handle(ctx).Model(&Register{ID: id}).Update("value", w.Value).Error
	})
}

func (c *client) exec(ctx context.Context) {
	c.one("exec", func(id int64, w *history.Write) error {
		return c.handle(ctx).Exec(setRegister, w.Value, id).Error
	})
}

// connection writes where no plugin can see what becomes of it.
func (c *client) connection(ctx context.Context) {
	if !c.doubtful() {
		c.exec(ctx)
		return
	}
	c.one("connection", func(id int64, w *history.Write) error {
		return c.handle(ctx).Connection(func(tx *gorm.DB) error { return tx.Exec(setRegister, w.Value, id).Error })
	})
}

// cancel gives up while the write is under way.
func (c *client) cancel(ctx context.Context) {
	if !c.doubtful() {
		c.exec(ctx)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.rng.Int64N(int64(4*time.Millisecond))))
	defer cancel()
	c.one("cancel", func(id int64, w *history.Write) error {
		return c.handle(ctx).Exec(setRegister, w.Value, id).Error
	})
}

func (c *client) returning(ctx context.Context) {
	c.one("returning", func(id int64, w *history.Write) error {
		return c.handle(ctx).Raw(setRegister+" RETURNING version", w.Value, id).Scan(&w.Version).Error
	})
}

func (c *client) clauseReturning(ctx context.Context) {
	c.one("clause_returning", func(id int64, w *history.Write) error {
		r := Register{ID: id}
		err := c.handle(ctx).Model(&r).Clauses(clause.Returning{Columns: []clause.Column{{Name: "version"}}}).Update("value", w.Value).Error
		if err == nil {
			w.Version = r.Version
		}
		return err
	})
}

// openRows has the first row of a write long before that has committed: the row is
// larger than what a server buffers, and the commit takes its time (see schema).
func (c *client) openRows(ctx context.Context) {
	a, b := c.two()
	prefix := c.value()
	writes := []history.Write{{Key: register(a), Value: fmt.Sprintf("%s/%d", prefix, a)}, {Key: register(b), Value: fmt.Sprintf("%s/%d", prefix, b)}}
	c.write("open_rows", writes, func([]history.Write) error {
		rows, err := c.handle(ctx).Raw("UPDATE registers SET value = ? || '/' || id WHERE id IN (?, ?) RETURNING repeat('x', 20000)", prefix, a, b).Rows()
		if err != nil {
			return err
		}
		rows.Next()
		err = rows.Close()
		if err == nil {
			err = rows.Err()
		}
		return err
	})
}

// two are two registers, the smaller first: whoever locks in this order does not
// deadlock.
func (c *client) two() (a, b int) {
	a, b = c.register(), c.register()
	if a == b {
		b = 1 + a%hot
	}
	return min(a, b), max(a, b)
}

func (c *client) upsert(ctx context.Context) {
	c.one("upsert", func(id int64, w *history.Write) error {
		return c.handle(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"value"})}).
			Create(&Register{ID: id, Value: w.Value}).Error
	})
}

func (c *client) save(ctx context.Context) {
	c.one("save", func(id int64, w *history.Write) error {
		var r Register
		if err := c.handle(ctx).Take(&r, id).Error; err != nil {
			return fmt.Errorf("%w: %w", errNotSent, err)
		}
		r.Value = w.Value
		return c.handle(ctx).Save(&r).Error
	})
}

func (c *client) create(ctx context.Context) {
	id := c.list()
	c.write("create", []history.Write{{Key: list(id), Value: c.value()}}, func(w []history.Write) error {
		return c.handle(ctx).Create(&Entry{RegisterID: int64(id), Value: w[0].Value}).Error
	})
}

// hook writes a register whose hook reads it first.
func (c *client) hook(ctx context.Context) {
	c.one("hook", func(id int64, w *history.Write) error {
		ctx := withHook(ctx, func(tx *gorm.DB) {
			e := c.begin(history.KindRead, "in_hook")
			e.Mode, e.Free, e.InTx = history.Fresh, true, true // a write belongs on what is current
			var r Register
			_ = c.took(e, int(id), &r, tx.Session(&gorm.Session{NewDB: true}).Select(served).Take(&r, id))
		})
		return c.handle(ctx).Model(&Hooked{ID: id}).Updates(&Hooked{Value: w.Value}).Error
	})
}

// place fills a place unless that is filled already, and does so again: the second
// time it has to be found.
func (c *client) place(ctx context.Context) {
	key := fmt.Sprintf("f%d.%d", c.p.cfg.Process, c.p.names.Add(1))
	for range 2 {
		value := c.value()
		read := c.begin(history.KindRead, "place")
		p := Place{}
		err := c.handle(ctx).Where(&Place{Name: key}).Attrs(&Place{Value: value}).FirstOrCreate(&p).Error
		read.Result, read.Free, read.Error = history.OK, true, told(err)
		read.Reads = []history.Read{{Key: key}}
		switch {
		case err != nil:
			read.Result = history.Failed
		case p.Value != value:
			read.Reads[0].Values = []string{p.Value}
		}
		c.end(read)
		if err == nil && p.Value != value {
			continue
		}
		e := c.begin(history.KindWrite, "place")
		e.Invoke, e.Writes = read.Invoke, []history.Write{{Key: key, Value: value}}
		e.Result, e.Error, e.Says = outcome(err), told(err), c.says(e.Way, err)
		c.end(e)
		if e.Result != history.Failed {
			c.wrote(key)
		}
	}
}
