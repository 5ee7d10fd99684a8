package drivertest

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/sqlserver"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/internal/conformance"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/testenv/tdsenv"
	"github.com/readsplit/readsplit/testenv/tdsenv/drivertest/words"
)

// Everything is proven on the double, too: nothing is left out.
func TestConformance(t *testing.T) {
	require.Empty(t, conformance.Run(t, newDouble(t)))
}

// double fills a bench with an availability group of the double.
type double struct {
	c     *tdsenv.Cluster
	turns atomic.Int64

	mu   sync.Mutex
	sent []sentTo
}

type sentTo struct{ server, statement string }

func newDouble(t *testing.T) conformance.Bench {
	d := &double{}
	d.c = tdsenv.Start(t, tdsenv.Config{Trace: func(server, statement string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.sent = append(d.sent, sentTo{server, statement})
	}})
	c, past := d.c, map[string]*sql.DB{}
	_, err := pool(t, c.Primary().DSN()).ExecContext(limit(t), lsn.SQLServerMarkerTable("dbo.conformance_marker"))
	require.NoError(t, err)
	b := conformance.Bench{
		Name: "SQL Server (the TDS protocol double)",
		SQL:  words.SQL,
		Primary: func() gorm.Dialector {
			return sqlserver.New(sqlserver.Config{Conn: pool(t, c.Listener().DSN())})
		},
		Replica:          func(name string) gorm.Dialector { return sqlserver.Open(c.Server(name).ReadOnlyDSN()) },
		PrimaryAsReplica: func() gorm.Dialector { return sqlserver.Open(c.Primary().ReadOnlyDSN()) },
		Past:             func(name string) *sql.DB { return past[name] },
		CaughtUp:         c.WaitCaughtUp,
		Proofs: []conformance.Proof{
			words.PositionAndWindow,
			words.Marker("dbo.conformance_marker"),
			{Name: "window alone", Window: true, Arrange: d.denyViews, Configure: func(cfg *readsplit.Config) {
				cfg.MaxSampleAge = 500 * time.Millisecond
				for i := range cfg.Replicas {
					cfg.Replicas[i].StatedLag = 100 * time.Millisecond
				}
			}},
		},
		Faults: conformance.Faults{
			Pause: func(ctx context.Context, name string) (conformance.Undo, error) {
				return undo(c.Server(name).PauseRedo(ctx))
			},
			Suspend: func(ctx context.Context, name string) (conformance.Undo, error) {
				return undo(c.Server(name).Suspend(ctx))
			},
			Kill: func(ctx context.Context, name string) (conformance.Undo, error) {
				return undo(c.Server(name).Kill(ctx))
			},
			Sever: func(_ context.Context, name string) error {
				c.Server(name).Sever()
				return nil
			},
			Fail: d.fail, LoseCommit: d.loseCommit, Watch: d.watch,
			Failover: func(ctx context.Context) error { return c.Failover(ctx, c.Replica(0)) },
		},
	}
	for _, s := range c.Servers() {
		b.Servers = append(b.Servers, s.Name())
		past[s.Name()] = pool(t, s.DSN())
		past[s.Name()].SetMaxIdleConns(-1) // connections are severed
	}
	return b
}

func undo(u tdsenv.Undo, err error) (conformance.Undo, error) { return u, err }

func all(undos []tdsenv.Undo) conformance.Undo {
	return func() error {
		for _, u := range undos {
			if err := u(); err != nil {
				return err
			}
		}
		return nil
	}
}

func (d *double) denyViews(ctx context.Context) (conformance.Undo, error) {
	var undos []tdsenv.Undo
	for _, s := range d.c.Servers() {
		u, err := s.DenyView(ctx)
		if err != nil {
			return nil, err
		}
		undos = append(undos, u)
	}
	return all(undos), nil
}

func (d *double) fail(ctx context.Context, code string, late bool) (string, conformance.Undo, error) {
	number, err := strconv.ParseInt(code, 10, 32)
	if err != nil {
		return "", nil, err
	}
	mark := fmt.Sprintf("turn%d", d.turns.Add(1))
	var undos []tdsenv.Undo
	for _, s := range d.c.Replicas() {
		u, err := s.FailNext(ctx, tdsenv.Failure{Match: mark, Number: int32(number), After: late, Times: -1})
		if err != nil {
			return "", nil, err
		}
		undos = append(undos, u)
	}
	// More rows than are read ahead.
	many := "conformance_authors a" + strings.Repeat(", conformance_authors a", 7)
	for i := range 8 {
		many = strings.Replace(many, " a,", fmt.Sprintf(" a%d,", i), 1)
	}
	return "SELECT @@SERVERNAME AS server, a0.name AS " + mark + " FROM " + many, all(undos), nil
}

func (d *double) loseCommit(ctx context.Context) (string, conformance.Undo, error) {
	const insert = "INSERT INTO conformance_books (title, copies, author_id) VALUES ('lost', 3, 1)"
	u, err := d.c.Primary().FailNext(ctx, tdsenv.Failure{Match: "COMMIT TRANSACTION", Sever: true, After: true})
	return insert, conformance.Undo(u), err
}

func (d *double) watch(context.Context) (func() (map[string][]string, error), error) {
	d.mu.Lock()
	from := len(d.sent)
	d.mu.Unlock()
	return func() (map[string][]string, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		by := map[string][]string{}
		for _, s := range d.sent[from:] {
			by[s.server] = append(by[s.server], s.statement)
		}
		return by, nil
	}, nil
}
