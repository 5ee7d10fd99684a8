package workload

import (
	"context"
	"errors"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/verify/history"
)

// readWays are the doors through which a GORM application reads.
var readWays = []way{
	{"take", 10, (*client).take},
	{"find", 6, (*client).find},
	{"list", 6, (*client).entries},
	{"preload", 6, (*client).preload},
	{"slow_preload", 1, (*client).slowPreload},
	{"raw", 3, (*client).raw},
	{"rows", 2, (*client).rows},
	{"generics", 2, (*client).generics},
	{"batches", 2, (*client).batches},
	{"pluck", 1, (*client).pluck},
	{"slow", 2, (*client).slow},
	{"read_place", 2, (*client).readPlace},
	{"repeatable_read", 3, (*client).repeatableRead},
	{"read_committed", 2, (*client).readCommitted},
}

// asked chooses what a read asks for.
func (c *client) asked(ctx context.Context, e *Event) context.Context {
	if !c.p.app.sessions {
		return ctx
	}
	switch n := c.rng.IntN(100); {
	case n < 6:
		e.Mode = history.Fresh
		return readsplit.Fresh(ctx)
	case n < 14:
		e.Mode = history.Stale
		return readsplit.Stale(ctx)
	case n < 17:
		e.Mode = history.AnyReplica
		return readsplit.AnyReplica(ctx)
	case n < 26:
		e.Mode, e.Bound = history.AtMost, time.Duration(20+c.rng.IntN(500))*time.Millisecond
		return readsplit.AtMost(ctx, e.Bound)
	}
	return ctx
}

// ended records a read with what its router says of it.
func (c *client) ended(e *Event, tx *gorm.DB, err error) error {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		err = nil
	}
	e.Result, e.Error = history.OK, told(err)
	if err != nil {
		e.Result, e.Reads = history.Failed, nil
	}
	e.Queued = errors.Is(err, overload.ErrPrimaryBusy)
	if errors.Is(err, readsplit.ErrPrimaryLost) {
		e.Free = true // a bound that nothing proves is refused, and that was promised
	}
	if tx != nil {
		if d, ok := readsplit.DecisionOf(tx); ok {
			e.Reason, e.Attempts = d.Reason.String(), d.Attempts
		}
	}
	c.end(e)
	return err
}

// took records the read of one register.
func (c *client) took(e *Event, id int, r *Register, tx *gorm.DB) error {
	e.Server = r.Server
	e.Reads = []history.Read{{Key: register(id), Version: r.Version, Value: r.Value}}
	if r.Server == "" {
		e.Reads[0].Version = -1 // no row
	}
	return c.ended(e, tx, tx.Error)
}

func (c *client) take(ctx context.Context) {
	id := c.look("r", c.register)
	e := c.begin(history.KindRead, "take")
	var r Register
	db := c.handle(c.asked(ctx, e)).Select(served)
	if c.rng.IntN(2) == 0 {
		_ = c.took(e, id, &r, db.First(&r, id))
	} else {
		_ = c.took(e, id, &r, db.Where("id = ?", id).Limit(1).Find(&r))
	}
}

// slow reads long enough for a fault to strike meanwhile.
func (c *client) slow(ctx context.Context) {
	id := c.look("r", c.register)
	e := c.begin(history.KindRead, "slow")
	var r Register
	_ = c.took(e, id, &r, c.handle(c.asked(ctx, e)).Select(served).
		Where("id = ? AND (SELECT sum(i) FROM generate_series(1, 40000) i) > 0", id).Take(&r))
}

func (c *client) raw(ctx context.Context) {
	id := c.look("r", c.register)
	e := c.begin(history.KindRead, "raw")
	e.Free = true // an error in the middle of the rows is returned
	var r Register
	_ = c.took(e, id, &r, c.handle(c.asked(ctx, e)).Raw("SELECT "+served+" FROM registers WHERE id = ?", id).Scan(&r))
}

func (c *client) generics(ctx context.Context) {
	id := c.look("r", c.register)
	e := c.begin(history.KindRead, "generics")
	ctx = c.asked(ctx, e)
	r, err := gorm.G[Register](c.handle(ctx)).Select(served).Where("id = ?", id).Take(ctx)
	e.Server = r.Server
	e.Reads = []history.Read{{Key: register(id), Version: r.Version, Value: r.Value}}
	if r.Server == "" {
		e.Reads[0].Version = -1
	}
	_ = c.ended(e, nil, err)
}

func (c *client) rows(ctx context.Context) {
	id := c.look("r", c.register)
	e := c.begin(history.KindRead, "rows")
	e.Free = true
	var r Register
	tx := c.handle(c.asked(ctx, e))
	rows, err := tx.Table("registers").Select("version, value, current_setting('cluster_name')").Where("id = ?", id).Rows()
	if err == nil {
		for rows.Next() && err == nil {
			err = rows.Scan(&r.Version, &r.Value, &r.Server)
		}
		err = errors.Join(err, rows.Err(), rows.Close())
	}
	e.Server = r.Server
	e.Reads = []history.Read{{Key: register(id), Version: r.Version, Value: r.Value}}
	if r.Server == "" {
		e.Reads[0].Version = -1
	}
	_ = c.ended(e, nil, err)
}

// find reads three registers in one statement.
func (c *client) find(ctx context.Context) {
	ids := []int{c.look("r", c.register), c.register(), c.register()}
	e := c.begin(history.KindRead, "find")
	e.Together = history.Snapshot
	var all []Register
	tx := c.handle(c.asked(ctx, e)).Select(served).Where("id IN ?", ids).Find(&all)
	for _, r := range all {
		e.Server = r.Server
		e.Reads = append(e.Reads, history.Read{Key: register(int(r.ID)), Version: r.Version, Value: r.Value})
	}
	_ = c.ended(e, tx, tx.Error)
}

// read is what a list shows, and who showed it.
func (e listing) read(id int) (r history.Read) {
	r.Key = list(id)
	for _, entry := range e {
		r.Values, r.Server = append(r.Values, entry.Value), entry.Server
	}
	return r
}

type listing []Entry

func (c *client) entries(ctx context.Context) {
	id := c.look("l", c.list)
	e := c.begin(history.KindRead, "list")
	var all listing
	tx := c.handle(c.asked(ctx, e)).Select(served).Where("register_id = ?", id).Order("id").Find((*[]Entry)(&all))
	e.Reads = []history.Read{all.read(id)}
	e.Server = e.Reads[0].Server
	_ = c.ended(e, tx, tx.Error)
}

func (c *client) batches(ctx context.Context) {
	id := c.look("l", c.list)
	e := c.begin(history.KindRead, "batches")
	var all, batch listing
	tx := c.handle(c.asked(ctx, e)).Select(served).Where("register_id = ?", id).FindInBatches((*[]Entry)(&batch), 20, func(*gorm.DB, int) error {
		all = append(all, batch...)
		return nil
	})
	e.Reads = []history.Read{all.read(id)}
	e.Server = e.Reads[0].Server
	_ = c.ended(e, nil, tx.Error)
}

func (c *client) pluck(ctx context.Context) {
	id := c.look("l", c.list)
	e := c.begin(history.KindRead, "pluck")
	var values []string
	tx := c.handle(c.asked(ctx, e)).Model(&Entry{}).Where("register_id = ?", id).Pluck("value", &values)
	e.Reads = []history.Read{{Key: list(id), Values: values}}
	_ = c.ended(e, tx, tx.Error)
}

// preload reads a register and its entries.
func (c *client) preload(ctx context.Context) { c.preloaded(ctx, "preload", 0) }

// slowPreload does something else between the two statements, in which a replica
// may be removed and another take its place.
func (c *client) slowPreload(ctx context.Context) {
	c.preloaded(ctx, "slow_preload", time.Duration(c.rng.IntN(600))*time.Millisecond)
}

func (c *client) preloaded(ctx context.Context, way string, between time.Duration) {
	id := c.look("l", c.list)
	e := c.begin(history.KindRead, way)
	e.Together = history.Follows
	var r Register
	tx := c.handle(c.asked(ctx, e)).Select(served).
		Preload("Entries", func(db *gorm.DB) *gorm.DB {
			if between > 0 {
				<-time.After(between)
			}
			return db.Select(served).Order("id")
		}).Where("id = ?", id).Take(&r)
	e.Server = r.Server
	e.Reads = []history.Read{{Key: register(id), Version: r.Version, Value: r.Value}}
	if r.Server == "" {
		e.Reads[0].Version = -1
	} else {
		e.Reads = append(e.Reads, listing(r.Entries).read(id))
	}
	_ = c.ended(e, tx, tx.Error)
}

func (c *client) readPlace(ctx context.Context) {
	for n := range c.recent {
		key := c.recent[len(c.recent)-1-n]
		if !strings.HasPrefix(key, "f") {
			continue
		}
		e := c.begin(history.KindRead, "read_place")
		var all []Place
		tx := c.handle(c.asked(ctx, e)).Where("name = ?", key).Limit(1).Find(&all)
		e.Reads = []history.Read{{Key: key}}
		for _, p := range all {
			e.Reads[0].Values = append(e.Reads[0].Values, p.Value)
		}
		_ = c.ended(e, tx, tx.Error)
		return
	}
	c.take(ctx)
}
