package readsplit

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// preparedRows are the rows of a question to a driver that cannot query without
// preparing, as go-mssqldb. Its prepared statement is a text until it runs, and costs no
// round trip.
type preparedRows struct {
	driver.Rows
	stmt driver.Stmt
}

func (r preparedRows) free() { _ = r.stmt.Close() }

// queried runs a query without arguments.
func (h *heldConn) queried(ctx context.Context, query string) (driver.Rows, error) {
	if h.query != nil {
		rows, err := h.QueryContext(ctx, query, nil)
		if !errors.Is(err, driver.ErrSkip) { // a driver around another one, which cannot
			return rows, err
		}
	}
	if h.prepare == nil {
		return nil, fmt.Errorf("readsplit: the driver's connection %T can neither query nor prepare with a context", h.conn)
	}
	stmt, err := h.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	q, ok := stmt.(driver.StmtQueryContext)
	if !ok {
		_ = stmt.Close()
		return nil, fmt.Errorf("readsplit: the driver's statement %T cannot query with a context", stmt)
	}
	rows, err := q.QueryContext(ctx, nil)
	if err != nil {
		_ = stmt.Close()
		return nil, err
	}
	return preparedRows{rows, stmt}, nil
}
