package sqlclass_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/sqlclass"
)

// TestT27PrefixTraps holds the texts on which routing by the first word, or by a
// search for "for update" at the end, is known to go wrong in either direction.
func TestT27PrefixTraps(t *testing.T) {
	tests := []struct {
		dialect sqlclass.Dialect
		sql     string
		want    sqlclass.Class
	}{
		// (x).f is f(x) where no column has that name.
		{sqlclass.PostgreSQL, "SELECT (5::bigint).pg_try_advisory_lock", sqlclass.Unknown},
		{sqlclass.PostgreSQL, "SELECT ('s'::regclass).nextval", sqlclass.Unknown},
		{sqlclass.PostgreSQL, "SELECT (1.0).\"pg_sleep\"", sqlclass.Unknown},
		{sqlclass.PostgreSQL, "SELECT (array[5])[1].pg_advisory_lock", sqlclass.Unknown},
		{sqlclass.PostgreSQL, "SELECT (o.customer).name, (o).id FROM orders o", sqlclass.Read},
		// Sent to a replica by a prefix check, and no reads.
		{sqlclass.PostgreSQL, "SELECT * FROM orders WHERE id = $1 FOR UPDATE;", sqlclass.LockingRead},
		{sqlclass.PostgreSQL, "SELECT * FROM orders FOR UPDATE SKIP LOCKED", sqlclass.LockingRead},
		{sqlclass.PostgreSQL, "SELECT * FROM orders FOR NO KEY UPDATE", sqlclass.LockingRead},
		{sqlclass.PostgreSQL, "SELECT * FROM orders FOR SHARE", sqlclass.LockingRead},
		{sqlclass.PostgreSQL, "SELECT nextval('s')", sqlclass.Write},
		{sqlclass.PostgreSQL, "SELECT pg_advisory_lock(1)", sqlclass.Unknown},
		{sqlclass.PostgreSQL, "SELECT pg_advisory_xact_lock($1)", sqlclass.Unknown},
		{sqlclass.PostgreSQL, "SELECT * INTO copy FROM orders", sqlclass.Write},
		{sqlclass.PostgreSQL, "SELECT 1; DELETE FROM orders", sqlclass.Write},
		{sqlclass.SQLServer, "SELECT * FROM orders WITH (UPDLOCK) WHERE id = @p1", sqlclass.LockingRead},

		// Sent to the primary by a prefix check, and plain reads.
		{sqlclass.PostgreSQL, "WITH x AS (SELECT 1) SELECT * FROM x", sqlclass.Read},
		{sqlclass.PostgreSQL, "(SELECT 1) UNION (SELECT 2)", sqlclass.Read},
		{sqlclass.PostgreSQL, "-- why\nSELECT 1", sqlclass.Read},
		{sqlclass.PostgreSQL, "/* why */SELECT 1", sqlclass.Read},
		{sqlclass.PostgreSQL, "SELECT 1", sqlclass.Read},
		{sqlclass.PostgreSQL, "VALUES (1), (2)", sqlclass.Read},
		{sqlclass.PostgreSQL, "TABLE orders", sqlclass.Read},
		{sqlclass.PostgreSQL, "EXPLAIN SELECT * FROM orders", sqlclass.Read},

		// Names and literals that mislead a search for words.
		{sqlclass.PostgreSQL, "SELECT * FROM users;", sqlclass.Read},
		{sqlclass.PostgreSQL, "SELECT * FROM\nusers", sqlclass.Read},
		{sqlclass.PostgreSQL, "SELECT  *  FROM  users", sqlclass.Read},
		{sqlclass.PostgreSQL, "SELECT * FROM public.users", sqlclass.Read},
		{sqlclass.PostgreSQL, "SELECT * FROM ONLY users", sqlclass.Read},
		{sqlclass.PostgreSQL, "SELECT ' FROM users FOR UPDATE; RETURNING id' FROM orders", sqlclass.Read},
		{sqlclass.PostgreSQL, "SELECT 'RETURNING' || $1", sqlclass.Read},
		{sqlclass.SQLServer, "SELECT * FROM [users]", sqlclass.Read},

		// An alias with columns, unless its name is suspicious.
		{sqlclass.PostgreSQL, "SELECT * FROM users u(a, b)", sqlclass.Read},
		{sqlclass.PostgreSQL, "SELECT * FROM users nextval(a, b)", sqlclass.Write},
		{sqlclass.PostgreSQL, "SELECT '' set_config('a', 'b', false)", sqlclass.Unknown},

		// Writes that return rows.
		{sqlclass.PostgreSQL, `INSERT INTO "users" ("name") VALUES ($1) RETURNING "id"`, sqlclass.Write},
		{sqlclass.PostgreSQL, `UPDATE "users" SET "name"=$1 WHERE "id" = $2 RETURNING *`, sqlclass.Write},
		{sqlclass.PostgreSQL, "WITH d AS (DELETE FROM users WHERE id = $1) SELECT 1", sqlclass.Write},
		{sqlclass.PostgreSQL, "WITH d AS (DELETE FROM users RETURNING id) SELECT * FROM d", sqlclass.Write},
		{sqlclass.PostgreSQL, "EXPLAIN ANALYZE UPDATE users SET age = 1", sqlclass.Write},
		{sqlclass.SQLServer, "INSERT INTO [users] ([name]) OUTPUT INSERTED.[id] VALUES (@p1)", sqlclass.Write},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, sqlclass.Classify(tt.dialect, tt.sql).Class, "%s: %s", tt.dialect, tt.sql)
	}
}
