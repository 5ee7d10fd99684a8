package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// Writer is a database on its primary: the newest state, and who has locked which rows. It ends
// when the server is no longer the primary.
type Writer struct {
	mu       sync.Mutex
	head     *State
	locks    map[string]*Tx
	identity map[int64]int64 // by table; not given back by a rollback
	publish  func(*State) error
	ended    error
	lastID   uint64
}

// NewWriter makes a writer that starts from a state. Publish is told of every commit, in order;
// its error makes the commit fail.
func NewWriter(head *State, publish func(*State) error) *Writer {
	return &Writer{head: head, locks: map[string]*Tx{}, identity: map[int64]int64{}, publish: publish}
}

// End makes every later write and commit fail with err.
func (w *Writer) End(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = err
}

// Head is the newest committed state.
func (w *Writer) Head() *State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.head
}

// Tx is a transaction. One without a Writer, on a secondary, reads only.
type Tx struct {
	w        *Writer
	id       uint64
	name     string
	snapshot bool
	base     *State // of a snapshot, and on a secondary
	changes  []change
	onto     *State // the head on which view stands
	view     *State
	locked   []string
	saves    []savepoint
	done     chan struct{}
	waits    *Tx
}

type savepoint struct {
	name    string
	changes int
}

func (w *Writer) begin(snapshot bool) *Tx {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastID++
	return &Tx{w: w, id: w.lastID, snapshot: snapshot, done: make(chan struct{})}
}

// state is what the transaction's next statement reads.
func (tx *Tx) state() (*State, error) {
	tx.w.mu.Lock()
	defer tx.w.mu.Unlock()
	return tx.stateLocked()
}

func (tx *Tx) stateLocked() (*State, error) {
	base := tx.w.head
	if tx.snapshot {
		if tx.base == nil {
			tx.base = base
		}
		base = tx.base
	}
	if len(tx.changes) == 0 {
		return base, nil
	}
	if tx.onto != base || tx.view == nil {
		view, err := replay(base, tx.changes)
		if err != nil {
			return nil, err
		}
		tx.onto, tx.view = base, view
	}
	return tx.view, nil
}

func replay(base *State, changes []change) (*State, error) {
	e := base.edit()
	for _, c := range changes {
		if err := c.apply(e); err != nil {
			return nil, err
		}
	}
	return e.state, nil
}

// plan says what a statement changes, seen from a state, and which rows it must have locked.
type plan func(*State) (changes []change, locks []string, err error)

// run makes a plan, waits for the locks that it needs, and makes it anew when it had to wait: what
// it was made from may have changed.
func (tx *Tx) run(ctx context.Context, timeout time.Duration, p plan) error {
	w := tx.w
	for {
		w.mu.Lock()
		owner, err := tx.try(p)
		if err != nil || owner == nil {
			w.mu.Unlock()
			return err
		}
		tx.waits = owner
		for t := owner; t != nil; t = t.waits {
			if t == tx {
				tx.waits = nil
				w.mu.Unlock()
				return deadlock()
			}
		}
		w.mu.Unlock()
		err = wait(ctx, owner.done, timeout)
		w.mu.Lock()
		tx.waits = nil
		w.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

func deadlock() *sqlval.Error {
	e := sqlval.Errorf(1205, "Transaction was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction.")
	e.Class, e.State = 13, 51
	return e
}

func wait(ctx context.Context, done <-chan struct{}, timeout time.Duration) error {
	var limit <-chan time.Time
	if timeout >= 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		limit = timer.C
	}
	select {
	case <-done:
		return nil
	case <-limit:
		return sqlval.Errorf(1222, "Lock request time out period exceeded.")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// try does the statement, or says who is in the way.
func (tx *Tx) try(p plan) (*Tx, error) {
	w := tx.w
	if w.ended != nil {
		return nil, w.ended
	}
	view, err := tx.stateLocked()
	if err != nil {
		return nil, err
	}
	changes, locks, err := p(view)
	if err != nil {
		return nil, err
	}
	for _, l := range locks {
		if owner := w.locks[l]; owner != nil && owner != tx {
			return owner, nil
		}
	}
	if tx.snapshot && tx.base != w.head {
		for _, c := range changes {
			if r, ok := c.(*rowChange); ok && changedSince(tx.base, w.head, r) {
				return nil, sqlval.Errorf(3960, "Snapshot isolation transaction aborted due to update conflict. Retry the transaction or change the isolation level for the update/delete statement.")
			}
		}
	}
	for _, l := range locks {
		if w.locks[l] == nil {
			w.locks[l] = tx
			tx.locked = append(tx.locked, l)
		}
	}
	if len(changes) == 0 {
		return nil, nil
	}
	if tx.view, err = replay(view, changes); err != nil {
		return nil, err
	}
	tx.onto = w.head
	if tx.snapshot {
		tx.onto = tx.base
	}
	tx.changes = append(tx.changes, changes...)
	return nil, nil
}

// changedSince compares rows by identity: a row that was written is another slice.
func changedSince(base, head *State, r *rowChange) bool {
	row := func(s *State) []any {
		t := s.tables[strings.ToLower(r.table)]
		if t == nil {
			return nil
		}
		row, _ := t.rows.get(r.key)
		return row
	}
	a, b := row(base), row(head)
	return (a == nil) != (b == nil) || a != nil && &a[0] != &b[0]
}

func (tx *Tx) commit() error {
	w := tx.w
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	defer tx.release()
	if len(tx.changes) == 0 {
		return nil
	}
	if w.ended != nil {
		return w.ended
	}
	if tx.snapshot {
		tx.snapshot, tx.view = false, nil
	}
	next, err := tx.stateLocked()
	if err != nil {
		return err
	}
	if err := w.publish(next); err != nil {
		return err
	}
	w.head = next
	return nil
}

func (tx *Tx) rollback() {
	if tx.w == nil {
		return
	}
	tx.w.mu.Lock()
	defer tx.w.mu.Unlock()
	tx.release()
}

func (tx *Tx) release() {
	for _, l := range tx.locked {
		delete(tx.w.locks, l)
	}
	tx.locked, tx.changes, tx.view = nil, nil, nil
	select {
	case <-tx.done:
	default:
		close(tx.done)
	}
}

// cutTo undoes what came after the first n changes; their locks stay, as on a server.
func (tx *Tx) cutTo(n int) {
	if tx.w == nil || len(tx.changes) <= n {
		return
	}
	tx.w.mu.Lock()
	defer tx.w.mu.Unlock()
	tx.changes, tx.view = tx.changes[:n:n], nil
}

// nextIdentity gives out a value that no rollback takes back.
func (w *Writer) nextIdentity(t *table, c *tableColumn) int64 {
	last, known := w.identity[t.id]
	if !known || t.identity > last {
		last = t.identity
	}
	n := last + c.Step
	if last == 0 {
		n = c.Seed
	}
	w.identity[t.id] = n
	return n
}

// lockName names a row, or a value of a unique index, in the table of locks.
func lockName(t *table, index string, key []any) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d/%s", t.id, index)
	for _, v := range key {
		switch x := v.(type) {
		case string:
			v = sqlval.Fold(x)
		case sqlval.Dec:
			v = x.String()
		case time.Time:
			v = x.UnixNano()
		}
		fmt.Fprintf(&b, "/%v", v)
	}
	return b.String()
}

// dooms says whether an error ends the whole transaction, and not its statement alone.
func dooms(err error) bool {
	var e *sqlval.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Number {
	case 1205, 3960, 3961:
		return true
	}
	return false
}
