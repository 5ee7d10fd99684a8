package engine

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

// readers numbers the transactions of secondaries.
var readers atomic.Uint64

func (s *Session) transaction(stmt tsql.Stmt, out Sink) error {
	switch x := stmt.(type) {
	case *tsql.Begin:
		return s.Begin("", x.Name, out)
	case *tsql.Commit:
		return s.Commit(out)
	case *tsql.Rollback:
		return s.Rollback(x.Name, out)
	case *tsql.Save:
		return s.Save(x.Name)
	}
	return nil
}

// Begin begins a transaction, or counts one level more. An isolation level stays for the session.
func (s *Session) Begin(isolation, name string, out Sink) error {
	if isolation != "" {
		s.opts.isolation = isolation
	}
	if s.depth > 0 {
		s.depth++
		return nil
	}
	tx, err := s.newTx()
	if err != nil {
		return err
	}
	tx.name = name
	s.tx, s.depth = tx, 1
	return out.Transaction(Began, tx.id)
}

func (s *Session) newTx() (*Tx, error) {
	w, err := s.db.Writer()
	if err != nil {
		return nil, err
	}
	if w == nil {
		return &Tx{id: readers.Add(1), snapshot: true, done: make(chan struct{})}, nil
	}
	return w.begin(s.opts.isolation == "snapshot" || s.opts.isolation == "serializable" || s.opts.isolation == "repeatable read"), nil
}

// Commit ends the innermost transaction; the outermost commits.
func (s *Session) Commit(out Sink) error {
	switch {
	case s.depth == 0:
		return sqlval.Errorf(3902, "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.")
	case s.depth > 1:
		s.depth--
		return nil
	}
	tx := s.tx
	s.tx, s.depth = nil, 0
	if err := tx.commit(); err != nil {
		if terr := out.Transaction(RolledBack, tx.id); terr != nil {
			return terr
		}
		return err
	}
	return out.Transaction(Committed, tx.id)
}

// Rollback ends all transactions, or goes back to a savepoint.
func (s *Session) Rollback(name string, out Sink) error {
	if s.depth == 0 {
		return sqlval.Errorf(3903, "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.")
	}
	if name == "" || strings.EqualFold(name, s.tx.name) {
		return s.rollbackAll(out)
	}
	for i := len(s.tx.saves) - 1; i >= 0; i-- {
		if sp := s.tx.saves[i]; sp.name == name {
			s.tx.cutTo(sp.changes)
			s.tx.saves = s.tx.saves[:i+1]
			return nil
		}
	}
	return sqlval.Errorf(6401, "Cannot roll back %s. No transaction or savepoint of that name was found.", name)
}

func (s *Session) rollbackAll(out Sink) error {
	if s.tx == nil {
		return nil
	}
	id := s.tx.id
	s.drop()
	return out.Transaction(RolledBack, id)
}

// Save sets a savepoint. Their names differ by case, unlike others.
func (s *Session) Save(name string) error {
	if s.depth == 0 {
		return sqlval.Errorf(628, "Cannot issue SAVE TRANSACTION when there is no active transaction.")
	}
	s.tx.saves = append(s.tx.saves, savepoint{name, len(s.tx.changes)})
	return nil
}

// read is what the next statement of the session reads.
func (s *Session) read() (*State, error) {
	if s.tx == nil {
		return s.db.State()
	}
	if s.tx.w != nil {
		if _, err := s.db.State(); err != nil {
			return nil, err
		}
		return s.tx.state()
	}
	// On a secondary every isolation level is snapshot.
	if s.tx.base == nil {
		state, err := s.db.State()
		if err != nil {
			return nil, err
		}
		s.tx.base = state
	}
	return s.tx.base, nil
}

// change runs a plan in the session's transaction, or in one of its own.
func (s *Session) change(ctx context.Context, p plan) error {
	if _, err := s.db.State(); err != nil {
		return err
	}
	w, err := s.db.Writer()
	if err != nil {
		return err
	}
	if w == nil {
		return ReadOnly(s.db.Name())
	}
	if s.tx != nil {
		if s.tx.w == nil || s.tx.w != w {
			return ReadOnly(s.db.Name()) // begun when the server had another role
		}
		return s.tx.run(ctx, s.opts.lockTimeout, p)
	}
	tx := w.begin(false)
	if err := tx.run(ctx, s.opts.lockTimeout, p); err != nil {
		tx.rollback()
		return err
	}
	return tx.commit()
}

// ReadOnly is the error of a write on a secondary.
func ReadOnly(database string) *sqlval.Error {
	return sqlval.Errorf(3906, "Failed to update database \"%s\" because the database is read-only.", database)
}

// InTransaction says whether a transaction is open.
func (s *Session) InTransaction() bool { return s.depth > 0 }
