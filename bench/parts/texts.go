package parts

import (
	"context"
	"database/sql"

	"github.com/readsplit/readsplit/bench/overhead"
	"github.com/readsplit/readsplit/bench/side"
	"github.com/readsplit/readsplit/catalog"
	"github.com/readsplit/readsplit/sqlclass"
)

// Text is a statement, and what it takes to find out what it is.
type Text struct {
	Name, SQL string
	Alone     side.Alone // by its text
	Judged    side.Alone // with what is kept of the database's functions and views
}

// texts are of about 200 bytes, the size of what GORM writes for a small model.
var texts = []Text{
	{Name: "a read by GORM", SQL: `SELECT "users"."id","users"."name","users"."email","users"."age","users"."created_at","users"."updated_at" FROM "users" WHERE "users"."tenant_id" = $1 AND "users"."email" = $2 AND "users"."deleted_at" IS NULL LIMIT 1`},
	{Name: "a read with a call", SQL: `SELECT "users"."id","users"."name","users"."email","users"."age","users"."created_at" FROM "users" WHERE "users"."tenant_id" = $1 AND lower("users"."email") = $2 AND "users"."deleted_at" IS NULL LIMIT 1`},
	{Name: "a report, full of calls", SQL: `SELECT date_trunc('day', o.placed) AS day, count(*), sum(o.amount) FROM orders o JOIN users u ON u.id = o.user_id WHERE o.placed >= now() - interval '30 days' AND u.active GROUP BY 1 ORDER BY coalesce(1, 2)`},
	{Name: "a call of the application's own function", SQL: `SELECT "users"."id","users"."name","users"."email","users"."age",bench_total("users"."id") FROM "users" WHERE "users"."tenant_id" = $1 AND upper("users"."email") = $2 AND "users"."deleted_at" IS NULL LIMIT 1`},
	{Name: "an insert", SQL: `INSERT INTO "users" ("name","email","age","active","tenant_id","created_at","updated_at","deleted_at") VALUES ($1,$2,$3,$4,$5,$6,$7,$8),($9,$10,$11,$12,$13,$14,$15,$16) ON CONFLICT DO NOTHING RETURNING "id"`},
}

// Texts measures classification, with the catalogue of a real database: what it says was
// asked once, and is kept.
func Texts(ctx context.Context, db *sql.DB, m Measure) ([]Text, error) {
	if _, err := db.ExecContext(ctx, overhead.CreateOwnFunction); err != nil {
		return nil, err
	}
	c, err := catalog.New(catalog.Config{DB: db, Every: -1})
	if err != nil {
		return nil, err
	}
	c.Start()
	defer c.Close()
	if err := c.Wait(ctx); err != nil {
		return nil, err
	}
	all := make([]Text, len(texts))
	for i, t := range texts {
		t.Alone = m(func(n int) {
			for range n {
				sqlclass.Classify(sqlclass.PostgreSQL, t.SQL)
			}
		})
		t.Judged = m(func(n int) {
			for range n {
				c.Classify(t.SQL)
			}
		})
		all[i] = t
	}
	return all, nil
}
