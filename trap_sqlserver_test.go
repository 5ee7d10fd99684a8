package readsplit_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/utils/tests"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/readonlyguard"
)

// transactDialector stands for GORM's SQL Server dialector, in what T31 is about.
type transactDialector struct {
	tests.DummyDialector
	pool *sql.DB
}

func (transactDialector) Name() string { return "sqlserver" }

func (d transactDialector) Initialize(db *gorm.DB) error {
	db.ConnPool = d.pool
	callbacks.RegisterDefaultCallbacks(db, &callbacks.Config{})
	return nil
}

// transactDriver is a driver that keeps what it is sent, and refuses read-only
// transactions as go-mssqldb does.
type transactDriver struct{ sent []string }

func (d *transactDriver) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (d *transactDriver) Driver() driver.Driver                        { return nil }
func (d *transactDriver) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (d *transactDriver) Close() error                                 { return nil }
func (d *transactDriver) Begin() (driver.Tx, error)                    { return d, nil }
func (d *transactDriver) Commit() error                                { d.sent = append(d.sent, "COMMIT"); return nil }
func (d *transactDriver) Rollback() error                              { d.sent = append(d.sent, "ROLLBACK"); return nil }
func (d *transactDriver) Columns() []string                            { return []string{"id"} }
func (d *transactDriver) Next([]driver.Value) error                    { return io.EOF }

func (d *transactDriver) BeginTx(_ context.Context, o driver.TxOptions) (driver.Tx, error) {
	if o.ReadOnly {
		return nil, errors.New("read-only transactions are not supported")
	}
	d.sent = append(d.sent, "BEGIN")
	return d, nil
}

func (d *transactDriver) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	d.sent = append(d.sent, query)
	return d, nil
}

func (d *transactDriver) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	d.sent = append(d.sent, query)
	return driver.RowsAffected(1), nil
}

// On SQL Server an INSERT comes as INSERT .. OUTPUT through QueryContext, and a
// read-only transaction is an ordinary one.
func TestT31SQLServer(t *testing.T) {
	d := &transactDriver{}
	pool := sql.OpenDB(d)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	db, err := gorm.Open(transactDialector{pool: pool}, &gorm.Config{SkipDefaultTransaction: true, DisableAutomaticPing: true})
	require.NoError(t, err)
	plugin := readsplit.New(readsplit.Config{WriteFunctions: []string{"shop.mails"}})
	require.NoError(t, db.Use(plugin))
	t.Cleanup(func() { require.NoError(t, plugin.Close(context.Background())) })

	for query, want := range map[string]policy.Reason{
		"INSERT INTO [books] ([title]) OUTPUT INSERTED.[id] VALUES ('one')": policy.ReasonWrite,
		"SELECT * FROM [books] WITH (UPDLOCK)":                              policy.ReasonLockingRead,
		"SELECT * FROM [books]":                                             policy.ReasonNoReplicas,
		"SELECT * FROM [books] WHERE [total] > dbo.total([id])":             policy.ReasonNoReplicas,
		"SELECT [shop].[Mails] ([id]) FROM [books]":                         policy.ReasonUnknownStatement,
		// What another database has, the position of this one does not prove.
		"SELECT * FROM [archive].[dbo].[books]":                            policy.ReasonUnknownStatement,
		"SELECT * FROM books b JOIN archive..authors a ON a.id = b.author": policy.ReasonUnknownStatement,
		"SELECT archive.dbo.total(id) FROM books":                          policy.ReasonUnknownStatement,
		"SELECT [archive].[shop].[Mails] (id) FROM books":                  policy.ReasonUnknownStatement,
		`SELECT "dbo"."books"."id" FROM "dbo"."books"`:                     policy.ReasonNoReplicas,
		"SELECT b.document.value('/a', 'int') FROM [a.b.c] AS b":           policy.ReasonNoReplicas,
		"SELECT n.c FROM books b CROSS APPLY b.document.nodes('/a') n(c)":  policy.ReasonNoReplicas,
		`SELECT * FROM "#picked"`:                                          policy.ReasonUnknownStatement,
		"SELECT NEXT VALUE FOR dbo.numbers":                                policy.ReasonWrite,
		"SELECT dbo.total([id]) INTO [copies] FROM [books]":                policy.ReasonWrite,
	} {
		tx := db.Raw(query).Scan(&[]int{})
		require.NoError(t, tx.Error)
		require.Equal(t, want, reason(t, tx), query)
	}

	d.sent = nil
	require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
		return tx.Raw("SELECT * FROM [books]").Scan(&[]int{}).Error
	}, &sql.TxOptions{ReadOnly: true}))
	ctx := readsplit.ReadOnly(context.Background())
	require.NoError(t, db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		return tx.Raw("SELECT * FROM [books]").Scan(&[]int{}).Error
	}))
	require.Equal(t, strings.Repeat("BEGIN; SELECT * FROM [books]; COMMIT; ", 2), strings.Join(d.sent, "; ")+"; ")
	require.Panics(t, func() { db.WithContext(ctx).Exec("DELETE [books]") })
	var refused *readonlyguard.Error
	func() {
		defer func() { refused, _ = recover().(*readonlyguard.Error) }()
		db.WithContext(ctx).Raw("INSERT INTO [books] ([title]) OUTPUT INSERTED.[id] VALUES ('one')").Scan(&[]int{})
	}()
	require.NotNil(t, refused)
}
