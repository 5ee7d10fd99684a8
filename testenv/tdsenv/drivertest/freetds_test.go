package drivertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv/tdsenv"
)

// tsql runs statements with FreeTDS, which shares no code with go-mssqldb.
func tsql(t *testing.T, c *tdsenv.Cluster, port int, readOnly bool, input string) string {
	t.Helper()
	intent := "no"
	if readOnly {
		intent = "yes"
	}
	conf := filepath.Join(t.TempDir(), "freetds.conf")
	require.NoError(t, os.WriteFile(conf, fmt.Appendf(nil, `[global]
	tds version = 7.4
	client charset = UTF-8
	encryption = off
[double]
	host = 127.0.0.1
	port = %d
	database = app
	read-only intent = %s
`, port, intent), 0o600))
	ctx, cancel := context.WithTimeout(limit(t), limitFor)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tsql", "-S", "double", "-U", c.User(), "-P", c.Password(), "-D", "app", "-o", "q")
	cmd.Env = append(os.Environ(), "FREETDSCONF="+conf, "LC_ALL=C.UTF-8")
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "tsql is in Debian's package freetds-bin (make deps): %s", out)
	return string(out)
}

// The second, unrelated client: it logs in, writes, reads, gets errors, and follows the redirect.
func TestFreeTDS(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{})
	port := c.Listener().Port()
	out := tsql(t, c, port, false, `CREATE TABLE things (id int IDENTITY PRIMARY KEY, name nvarchar(50), price decimal(10,2), at datetime2(3), big nvarchar(max))
go
INSERT INTO things (name, price, at, big) OUTPUT INSERTED.id VALUES (N'grün', 1.25, '2026-02-03 04:05:06.789', REPLACE(N'0123456789', N'1', N'x')), (NULL, NULL, NULL, NULL)
go
BEGIN TRANSACTION
UPDATE things SET price = price * 2 WHERE id = 1
COMMIT
go
SELECT * FROM things ORDER BY id
go
SELECT * FROM nothing
go
SELECT @@SERVERNAME, DATABASEPROPERTYEX(DB_NAME(), 'Updateability')
go
`)
	require.Contains(t, out, "1\tgrün\t2.50\t")
	require.Contains(t, out, "0x23456789")
	require.Contains(t, out, "2\tNULL\tNULL\tNULL\tNULL")
	require.Contains(t, out, "Invalid object name 'nothing'.")
	require.Contains(t, out, "Msg 208 (severity 16, state 1) from SQL1")
	require.Contains(t, out, "SQL1\tREAD_WRITE")

	require.NoError(t, c.WaitCaughtUp(limit(t)))
	out = tsql(t, c, port, true, "SELECT @@SERVERNAME, DATABASEPROPERTYEX(DB_NAME(), 'Updateability'), count(*) FROM things\ngo\nDELETE FROM things\ngo\n")
	require.Contains(t, out, "SQL2\tREAD_ONLY\t2", "it follows the redirect")
	require.Contains(t, out, "Msg 3906")
	login := c.Server("SQL1").Logins()[1]
	require.True(t, login.ReadOnly)
	require.Equal(t, c.Server("SQL2").Addr(), login.RoutedTo)
}
