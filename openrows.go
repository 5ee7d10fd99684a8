package readsplit

import (
	"database/sql"
	"errors"
	"io"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// openRows are the results of statements that write and return rows, outside a
// transaction: `INSERT .. RETURNING` through Raw. Such a statement commits when
// its rows are closed, which GORM does not tell: Rows() hands them to the
// application. So they are looked at again when the next read, or a token, needs
// to know.
type openRows struct {
	n    atomic.Int32
	mu   sync.Mutex
	list []openRow
	kept int // how many were open when a full list was last swept
}

type openRow struct {
	rows   *sql.Rows
	marks  *marks
	effect effect
}

// rowsEnd reports whether rows have been closed, and with which error, without
// waiting for it: while they are being closed, that is until the commit is
// acknowledged, a method of theirs would wait, and with it every read of the
// process that wants to know. Rows that are being closed are open.
//
// The error is the one that was kept when they were closed. Rows.Err must not be
// called while the application reads, and would name a context that ended after
// the statement.
func rowsEnd(rows *sql.Rows) (closed bool, err error) {
	v := reflect.ValueOf(rows).Elem()
	lock, over, last := v.FieldByName("closemu"), v.FieldByName("closed"), v.FieldByName("lasterr")
	mu, known := readLock(lock)
	if !known || !over.IsValid() || over.Kind() != reflect.Bool || !last.IsValid() || last.Type() != reflect.TypeFor[error]() {
		if _, err := rows.Columns(); err == nil {
			return false, nil
		}
		return true, rows.Err()
	}
	if !mu.TryRLock() {
		return false, nil
	}
	defer mu.RUnlock()
	if !over.Bool() {
		return false, nil
	}
	err = *(*error)(last.Addr().UnsafePointer())
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return true, err
}

// readLocker is what rowsEnd needs of the lock in sql.Rows.
type readLocker interface {
	TryRLock() bool
	RUnlock()
}

// readLock returns the lock in a field that is not exported. Until Go 1.26 it is a
// sync.RWMutex, and from 1.27 on a type of database/sql's own with the same methods:
// whoever expects the one would wait for the other.
func readLock(field reflect.Value) (lock readLocker, known bool) {
	if !field.IsValid() || !field.CanAddr() {
		return nil, false
	}
	lock, known = reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Interface().(readLocker)
	return lock, known
}

// sweepAt is how many results may pile up before they are looked at although
// nobody reads: a process that only writes would keep them all.
const sweepAt = 64

// committing keeps rows until they have been closed.
func (rt *router) committing(r openRow) {
	if r.marks.session != nil {
		r.marks.session.ledgerOf(rt) // a token of the session asks whom it has a ledger of
	}
	o := &rt.openRows
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.list) >= max(sweepAt, 2*o.kept) {
		rt.sweepRows(noMarks)
		o.kept = len(o.list)
	}
	o.list = append(o.list, r)
	o.n.Store(int32(len(o.list)))
	plugins.stays(rt)
}

// unseen reports whether something may be under way whose end was not seen.
func (rt *router) unseen() bool { return rt.openRows.n.Load() != 0 || rt.foreign.n.Load() != 0 }

// remove forgets rows whose end was seen.
func (o *openRows) remove(rows *sql.Rows) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = slices.DeleteFunc(o.list, func(r openRow) bool { return r.rows == rows })
	o.n.Store(int32(len(o.list)))
}

// sweepRows records the writes whose rows have been closed, and tells whether any
// that are still open concern the reads of m. The caller holds the lock, also
// while the writes are recorded: a read that finds the list without a write must
// find the write recorded.
func (rt *router) sweepRows(m *marks) (pending bool) {
	o := &rt.openRows
	open := o.list[:0]
	for _, r := range o.list {
		if closed, err := rowsEnd(r.rows); closed {
			rt.outcome(r.marks, r.effect, err)
			continue
		}
		open = append(open, r)
		pending = pending || r.marks.concern(m)
	}
	clear(o.list[len(open):])
	o.list = open
	o.n.Store(int32(len(open)))
	return pending
}

// sweepClosed records the writes whose rows have been closed, although nobody
// reads.
func (rt *router) sweepClosed() {
	if rt.openRows.n.Load() == 0 {
		return
	}
	rt.openRows.mu.Lock()
	defer rt.openRows.mu.Unlock()
	rt.sweepRows(noMarks)
}

// concern reports whether what was written under m must be seen by the reads of
// reader: of the same session, or of everybody where either has none.
func (m *marks) concern(reader *marks) bool {
	return reader.session == nil || m.session == nil || m.session == reader.session
}

// sweepOpen records the writes whose end could not be seen when it came: rows
// that have been closed and foreign transactions that have ended since.
func (rt *router) sweepOpen(q *policy.Query, m *marks) {
	for _, s := range plugins.sharing(rt) {
		s.sweepForeign(q, m)
		if s.openRows.n.Load() == 0 {
			continue
		}
		s.openRows.mu.Lock()
		pending := s.sweepRows(m)
		s.openRows.mu.Unlock()
		q.Pending = q.Pending || pending
	}
	if rt.rehearsal == nil {
		plugins.letGo()
	}
}

// outcome records how a statement that is not a read ended outside a
// transaction.
func (rt *router) outcome(m *marks, e effect, err error) {
	_ = rt.noticed(err)
	if e.none {
		return
	}
	switch retry.OfWrite(err) {
	case retry.Committed:
		rt.wrote(m, e.insert, e.everybody, e.since())
	case retry.Unknown:
		rt.unsureOf(m, e.everybody)
	case retry.RolledBack:
		if e.partial {
			rt.wrote(m, e.insert, e.everybody, e.since())
		}
	case retry.NeverSent:
	}
}

// unsureOf records an event whose outcome is unknown, for the session and, where
// everybody is concerned, for every session of the process.
func (rt *router) unsureOf(m *marks, everybody bool) {
	rt.unsure(m)
	if everybody && m.session != nil {
		rt.unsure(noMarks)
	}
}

// rowsOf returns the rows inside a *sql.Row, which has no method that tells
// whether they have been closed; nil when they cannot be had.
func rowsOf(row *sql.Row) *sql.Rows {
	f := reflect.ValueOf(row).Elem().FieldByName("rows")
	if !f.IsValid() || f.Type() != reflect.TypeFor[*sql.Rows]() {
		return nil
	}
	return (*sql.Rows)(f.UnsafePointer())
}

// writing reports whether a write of s is under way whose end cannot be seen: rows
// that are open, a transaction that the plugin did not begin.
func (rt *router) writing(s *Session) bool {
	if o := &rt.openRows; o.n.Load() > 0 {
		o.mu.Lock()
		defer o.mu.Unlock()
		if slices.ContainsFunc(o.list, func(r openRow) bool { return r.marks.session == s }) {
			return true
		}
	}
	if f := &rt.foreign; f.n.Load() > 0 {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.ContainsFunc(f.list, func(t foreignTx) bool { return t.marks.session == s })
	}
	return false
}
