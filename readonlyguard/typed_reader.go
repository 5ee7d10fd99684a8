package readonlyguard

import (
	"cmp"
	"context"
	"database/sql"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// ReaderOf is gorm's generics API with only the reading methods, as [Reader] is the other one's. Whatever context its
// methods are called with, they are in a read session.
//
//	books, err := readonlyguard.Of[Book](r).Where("author_id = ?", id).Order("title").Find(ctx)
type ReaderOf[T any] struct {
	Finisher[T]
	chain gorm.ChainInterface[T]
}

// Of returns a ReaderOf over the database, or the transaction, of r. Conditions of r are not taken over.
func Of[T any](r Reader, opts ...clause.Expression) ReaderOf[T] {
	chain := gorm.G[T](r.db, opts...).Scopes()
	return ReaderOf[T]{Finisher[T]{chain, r.db.Error}, chain}
}

func (r ReaderOf[T]) with(chain gorm.ChainInterface[T]) ReaderOf[T] {
	return ReaderOf[T]{Finisher[T]{chain, r.err}, chain}
}

// RawOf reads with a text of SQL. One that is no read is refused.
func RawOf[T any](r Reader, sql string, values ...any) Finisher[T] {
	return Finisher[T]{gorm.G[T](r.db).Raw(sql, adapt(values)...), r.db.Error}
}

// Table sets the table, or a subquery.
func (r ReaderOf[T]) Table(name string, args ...any) ReaderOf[T] {
	return r.with(r.chain.Table(name, adapt(args)...))
}

// Select sets the columns.
func (r ReaderOf[T]) Select(query string, args ...any) ReaderOf[T] {
	return r.with(r.chain.Select(query, adapt(args)...))
}

// Omit leaves columns out.
func (r ReaderOf[T]) Omit(columns ...string) ReaderOf[T] { return r.with(r.chain.Omit(columns...)) }

// Distinct reads distinct values of the columns.
func (r ReaderOf[T]) Distinct(args ...any) ReaderOf[T] { return r.with(r.chain.Distinct(args...)) }

// Where adds a condition; a [Reader] among the arguments is a subquery.
func (r ReaderOf[T]) Where(query any, args ...any) ReaderOf[T] {
	return r.with(r.chain.Where(condition(query), adapt(args)...))
}

// Not adds a negated condition.
func (r ReaderOf[T]) Not(query any, args ...any) ReaderOf[T] {
	return r.with(r.chain.Not(condition(query), adapt(args)...))
}

// Or adds an alternative.
func (r ReaderOf[T]) Or(query any, args ...any) ReaderOf[T] {
	return r.with(r.chain.Or(condition(query), adapt(args)...))
}

// Joins joins an association or a table.
func (r ReaderOf[T]) Joins(target clause.JoinTarget, on func(db gorm.JoinBuilder, joinTable, curTable clause.Table) error) ReaderOf[T] {
	return r.with(r.chain.Joins(target, on))
}

// Preload reads an association too.
func (r ReaderOf[T]) Preload(association string, query func(db gorm.PreloadBuilder) error) ReaderOf[T] {
	return r.with(r.chain.Preload(association, query))
}

// Group groups by a column.
func (r ReaderOf[T]) Group(name string) ReaderOf[T] { return r.with(r.chain.Group(name)) }

// Having adds a condition on groups.
func (r ReaderOf[T]) Having(query any, args ...any) ReaderOf[T] {
	return r.with(r.chain.Having(condition(query), adapt(args)...))
}

// Order sorts.
func (r ReaderOf[T]) Order(value any) ReaderOf[T] { return r.with(r.chain.Order(value)) }

// Limit bounds the number of rows.
func (r ReaderOf[T]) Limit(limit int) ReaderOf[T] { return r.with(r.chain.Limit(limit)) }

// Offset leaves out the first rows.
func (r ReaderOf[T]) Offset(offset int) ReaderOf[T] { return r.with(r.chain.Offset(offset)) }

// Count counts the rows.
func (r ReaderOf[T]) Count(ctx context.Context, column string) (int64, error) {
	return r.chain.Count(ReadOnly(ctx), column)
}

// Finisher reads what a [ReaderOf] or [RawOf] describes.
type Finisher[T any] struct {
	exec gorm.ExecInterface[T]
	err  error
}

// First reads the first record by primary key, or returns gorm.ErrRecordNotFound.
func (f Finisher[T]) First(ctx context.Context) (T, error) { return f.exec.First(ReadOnly(ctx)) }

// Take reads one record, or returns gorm.ErrRecordNotFound.
func (f Finisher[T]) Take(ctx context.Context) (T, error) { return f.exec.Take(ReadOnly(ctx)) }

// Last reads the last record by primary key, or returns gorm.ErrRecordNotFound.
func (f Finisher[T]) Last(ctx context.Context) (T, error) { return f.exec.Last(ReadOnly(ctx)) }

// Find reads all records.
func (f Finisher[T]) Find(ctx context.Context) ([]T, error) { return f.exec.Find(ReadOnly(ctx)) }

// FindInBatches reads all records in batches, and calls fc with each.
func (f Finisher[T]) FindInBatches(ctx context.Context, batchSize int, fc func(data []T, batch int) error) error {
	return f.exec.FindInBatches(ReadOnly(ctx), batchSize, fc)
}

// Scan reads rows into something else than T.
func (f Finisher[T]) Scan(ctx context.Context, dest any) error {
	return f.exec.Scan(ReadOnly(ctx), dest)
}

// Row reads one row. Where gorm returns nil, because the statement could not be built, the row's Scan says so.
func (f Finisher[T]) Row(ctx context.Context) *sql.Row {
	if row := f.exec.Row(ReadOnly(ctx)); row != nil {
		return row
	}
	return refusedRow(cmp.Or(f.err, gorm.ErrInvalidDB))
}

// Rows returns a cursor, which the caller closes.
func (f Finisher[T]) Rows(ctx context.Context) (*sql.Rows, error) { return f.exec.Rows(ReadOnly(ctx)) }
