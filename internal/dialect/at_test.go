package dialect_test

import (
	"context"
	"database/sql/driver"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/internal/dialect"
)

// connects is what a dialector would connect with: pgx's configuration after all of its
// options.
func connects(t *testing.T, d gorm.Dialector) *pgx.ConnConfig {
	t.Helper()
	var seen *pgx.ConnConfig
	config := d.(*postgres.Dialector).Config
	options := append(slices.Clone(config.OptionOpenDB), stdlib.OptionBeforeConnect(func(_ context.Context, c *pgx.ConnConfig) error {
		seen = c
		return driver.ErrBadConn // far enough
	}))
	parsed, err := pgx.ParseConfig(config.DSN)
	require.NoError(t, err)
	db := stdlib.OpenDB(*parsed, options...)
	defer func() { assert.NoError(t, db.Close()) }()
	assert.Error(t, db.PingContext(t.Context()))
	require.NotNil(t, seen)
	return seen
}

// The address is dialled, and everything else is about the host.
func TestAt(t *testing.T) {
	asked := false
	given := postgres.New(postgres.Config{
		DSN:                  "postgres://u:p@a:1,b:2/d?sslmode=verify-full&target_session_attrs=read-write",
		PreferSimpleProtocol: true,
		OptionOpenDB: []stdlib.OptionOpenDB{stdlib.OptionAfterConnect(func(context.Context, *pgx.Conn) error {
			asked = true
			return nil
		})},
	})
	at, ok := dialect.At(wrapped{given}, "pg.example", "10.0.0.7", 6432)
	require.True(t, ok)
	c := connects(t, at)
	assert.Equal(t, "pg.example", c.Host)
	assert.EqualValues(t, 6432, c.Port)
	assert.Equal(t, "pg.example", c.TLSConfig.ServerName)
	assert.Equal(t, "u p d", c.User+" "+c.Password+" "+c.Database)
	assert.Empty(t, c.Fallbacks)
	assert.Nil(t, c.ValidateConnect, "a server of any role can be asked")
	addresses, err := c.LookupFunc(t.Context(), "pg.example")
	require.NoError(t, err)
	assert.Equal(t, []string{"10.0.0.7"}, addresses)
	assert.True(t, dialect.Field(at, "PreferSimpleProtocol").Bool())
	assert.Equal(t, 2, dialect.Field(at, "OptionOpenDB").Len(), "the application's own option stays")
	assert.Equal(t, 1, dialect.Field(given, "OptionOpenDB").Len(), "and its dialector is not changed")
	assert.False(t, asked)

	at, ok = dialect.At(given, "pg2", "", 0)
	require.True(t, ok)
	c = connects(t, at)
	assert.Equal(t, "pg2", c.Host)
	assert.EqualValues(t, 5432, c.Port)

	// Another driver cannot tell them apart: certificates that name the host fail.
	at, ok = dialect.At(postgres.New(postgres.Config{DSN: "host=x user=u", DriverName: "another"}), "pg.example", "10.0.0.7", 1)
	require.True(t, ok)
	assert.Contains(t, dialect.Field(at, "DSN").String(), "host='10.0.0.7'")

	for _, d := range []gorm.Dialector{
		postgres.New(postgres.Config{DSN: "host=x", Conn: stdlib.OpenDB(pgx.ConnConfig{})}),
		postgres.Open("no dsn"),
	} {
		_, ok = dialect.At(d, "pg", "", 1)
		assert.False(t, ok)
	}
}

func TestPort(t *testing.T) {
	assert.Equal(t, 6432, dialect.Port(postgres.Open("host=a,b port=6432,6433")))
	assert.Zero(t, dialect.Port(postgres.Open("host=a")))
	assert.Zero(t, dialect.Port(postgres.Open("not a dsn")))
}
