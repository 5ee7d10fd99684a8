package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

// refusing answers ReplaySQL, and refuses everything else with an error.
type refusing struct {
	opened int
	err    error
}

func (r *refusing) Connect(context.Context) (driver.Conn, error) { r.opened++; return r, nil }
func (r *refusing) Driver() driver.Driver                        { return nil }
func (r *refusing) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("not prepared") }
func (r *refusing) Begin() (driver.Tx, error)                    { return nil, errors.New("not begun") }
func (r *refusing) Close() error                                 { return nil }

func (r *refusing) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	if query == lsn.ReplaySQL {
		return &oneText{text: "r1 t 0/5"}, nil
	}
	return nil, r.err
}

// oneText is one row with one text.
type oneText struct {
	text string
	done bool
}

func (o *oneText) Columns() []string { return []string{"text"} }
func (o *oneText) Close() error      { return nil }

func (o *oneText) Next(to []driver.Value) error {
	if o.done {
		return io.EOF
	}
	o.done, to[0] = true, o.text
	return nil
}

type saidNo struct{}

func (saidNo) Error() string    { return "permission denied for view pg_stat_database_conflicts" }
func (saidNo) SQLState() string { return "42501" }

// A role that may not see the conflicts must not lose its connection over them: the
// replica would be asked over a new one, and what is known of it be put in doubt.
func TestConflictsThatAreRefusedCostNoConnection(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		keeps bool
	}{
		"the server said no": {saidNo{}, true},
		"it is broken":       {errors.New("connection reset by peer"), false},
	} {
		t.Run(name, func(t *testing.T) {
			server := &refusing{err: c.err}
			db := sql.OpenDB(server)
			defer db.Close()
			s := &source{dialer: &dialer{db: db}}
			_, connected, err := s.Conflicts(t.Context())
			require.NoError(t, err)
			require.False(t, connected, "it does not connect")
			_, err = s.connect(t.Context())
			require.NoError(t, err)
			_, _, err = s.Conflicts(t.Context())
			require.ErrorIs(t, err, c.err)
			_, _, connected, err = s.Position(t.Context())
			require.NoError(t, err)
			assert.Equal(t, c.keeps, connected)
			assert.Equal(t, 1, server.opened)
			require.NoError(t, s.Close())
		})
	}
}
