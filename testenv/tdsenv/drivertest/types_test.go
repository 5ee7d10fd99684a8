package drivertest

import (
	"database/sql"
	"math"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
)

// Every type goes into a table and comes back, by value and as NULL.
func TestTypes(t *testing.T) {
	ctx := limit(t)
	db := pool(t, alone(t).DSN())
	at := time.Date(2026, 2, 3, 4, 5, 6, 123456700, time.FixedZone("", 5*3600+1800))
	uid := mssql.UniqueIdentifier{0x6F, 0x96, 0x19, 0xFF, 0x8B, 0x86, 0xD0, 0x11, 0xB4, 0x2D, 0x00, 0xC0, 0x4F, 0xC9, 0x64, 0xFF}
	long := strings.Repeat("ж€😀", 20_000) // several packets
	blob := []byte(strings.Repeat("\x00\xff", 50_000))
	for _, c := range []struct {
		typ       string
		in, out   any
		name      string
		precision int64
	}{
		{"tinyint", 255, int64(255), "TINYINT", 0},
		{"smallint", -32768, int64(-32768), "SMALLINT", 0},
		{"int", math.MinInt32, int64(math.MinInt32), "INT", 0},
		{"bigint", int64(math.MinInt64), int64(math.MinInt64), "BIGINT", 0},
		{"bit", true, true, "BIT", 0},
		{"float", 1.0 / 3, 1.0 / 3, "FLOAT", 0},
		{"real", float32(0.5), 0.5, "REAL", 0},
		{"decimal(10,2)", "-12.345", []byte("-12.35"), "DECIMAL", 10},
		{"numeric(25,0)", "370000000101600001", []byte("370000000101600001"), "DECIMAL", 25},
		{"numeric(25,0)", "9999999999999999999999999", []byte("9999999999999999999999999"), "DECIMAL", 25},
		{"money", "-1.5", []byte("-1.5000"), "MONEY", 0},
		{"nvarchar(20)", "grün 😀", "grün 😀", "NVARCHAR", 0},
		{"nvarchar(max)", long, long, "NVARCHAR", 0},
		{"varchar(20)", "plain é", "plain é", "VARCHAR", 0},
		{"nchar(5)", "ab", "ab   ", "NCHAR", 0},
		{"varbinary(10)", []byte{0, 1}, []byte{0, 1}, "VARBINARY", 0},
		{"varbinary(max)", blob, blob, "VARBINARY", 0},
		{"uniqueidentifier", uid, []byte{0xFF, 0x19, 0x96, 0x6F, 0x86, 0x8B, 0x11, 0xD0, 0xB4, 0x2D, 0x00, 0xC0, 0x4F, 0xC9, 0x64, 0xFF}, "UNIQUEIDENTIFIER", 0},
		{"datetimeoffset", at, at, "DATETIMEOFFSET", 0},
		{"datetimeoffset(3)", at, at.Truncate(time.Millisecond), "DATETIMEOFFSET", 0},
		{"datetime2", at, time.Date(2026, 2, 3, 4, 5, 6, 123456700, time.UTC), "DATETIME2", 0},
		{"datetime2(0)", at, time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC), "DATETIME2", 0},
		{"datetime", "2026-02-03 04:05:06.123", time.Date(2026, 2, 3, 4, 5, 6, 123_000_000, time.UTC), "DATETIME", 0},
		{"smalldatetime", "2026-02-03 04:05:10", time.Date(2026, 2, 3, 4, 5, 0, 0, time.UTC), "SMALLDATETIME", 0},
		{"date", "2026-02-03", time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC), "DATE", 0},
		{"time(7)", "04:05:06.1234567", time.Date(1, 1, 1, 4, 5, 6, 123456700, time.UTC), "TIME", 0},
	} {
		_, err := db.ExecContext(ctx, "CREATE TABLE t (id int PRIMARY KEY, v "+c.typ+")")
		require.NoError(t, err, c.typ)
		_, err = db.ExecContext(ctx, "INSERT INTO t VALUES (1, @p1), (2, @p2)", c.in, nil)
		require.NoError(t, err, c.typ)
		rows, err := db.QueryContext(ctx, "SELECT v FROM t ORDER BY id")
		require.NoError(t, err)
		types, err := rows.ColumnTypes()
		require.NoError(t, err)
		require.Equal(t, c.name, types[0].DatabaseTypeName())
		if p, _, ok := types[0].DecimalSize(); ok && c.precision > 0 {
			require.Equal(t, c.precision, p)
		}
		var got [2]any
		for i := range got {
			require.True(t, rows.Next())
			require.NoError(t, rows.Scan(&got[i]))
		}
		require.NoError(t, rows.Close())
		if want, ok := c.out.(time.Time); ok {
			require.WithinDuration(t, want, got[0].(time.Time), 0, c.typ)
		} else {
			require.Equal(t, c.out, got[0], c.typ)
		}
		require.Nil(t, got[1], c.typ)
		_, err = db.ExecContext(ctx, "DROP TABLE t")
		require.NoError(t, err)
	}
}

// Parameters of all types that the driver sends come back as they were.
func TestParameters(t *testing.T) {
	ctx := limit(t)
	db := pool(t, alone(t).DSN())
	var i, n int64
	var f float64
	var s, null sql.NullString
	var b bool
	row := db.QueryRowContext(ctx, "SELECT @p1, @p2, @name, @p4, @p5, len(@long)", 7, 2.5, sql.Named("name", "x"), true, nil, sql.Named("long", strings.Repeat("y", 9000)))
	require.NoError(t, row.Scan(&i, &f, &s, &b, &null, &n))
	require.EqualValues(t, 7, i)
	require.InDelta(t, 2.5, f, 0)
	require.Equal(t, "x", s.String)
	require.True(t, b)
	require.False(t, null.Valid)
	require.EqualValues(t, 9000, n)

	// Several results of one batch, and counts.
	rows, err := db.QueryContext(ctx, "DECLARE @n int = 2; SELECT @n AS a; IF @n = 2 SELECT 'yes' AS b ELSE SELECT 'no' AS b")
	require.NoError(t, err)
	require.True(t, rows.Next())
	require.NoError(t, rows.Scan(&i))
	require.EqualValues(t, 2, i)
	require.False(t, rows.Next())
	require.True(t, rows.NextResultSet())
	require.True(t, rows.Next())
	require.NoError(t, rows.Scan(&s))
	require.Equal(t, "yes", s.String)
	require.NoError(t, rows.Close())

	stmt, err := db.PrepareContext(ctx, "SELECT @p1 * 2")
	require.NoError(t, err)
	require.NoError(t, stmt.QueryRowContext(ctx, 21).Scan(&i))
	require.EqualValues(t, 42, i)
	require.NoError(t, stmt.Close())
}
