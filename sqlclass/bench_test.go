package sqlclass_test

import (
	"strconv"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/sqlclass"
)

// Texts of about 200 bytes, the size of what GORM writes for a small model.
var benchTexts = []struct{ name, sql string }{
	{"gorm", `SELECT "users"."id","users"."name","users"."email","users"."age","users"."created_at" FROM "users" WHERE "users"."tenant_id" = $1 AND lower("users"."email") = $2 AND "users"."deleted_at" IS NULL LIMIT 1`},
	{"report", `SELECT date_trunc('day', o.placed) AS day, count(*), sum(o.amount) FROM orders o JOIN users u ON u.id = o.user_id WHERE o.placed >= now() - interval '30 days' AND u.active GROUP BY 1 ORDER BY coalesce(1, 2)`},
	{"own function", `SELECT "users"."id","users"."name","users"."email","users"."age",total("users"."id") FROM "users" WHERE "users"."tenant_id" = $1 AND upper("users"."email") = $2 AND "users"."deleted_at" IS NULL LIMIT 1`},
	{"insert", `INSERT INTO "users" ("name","email","age","active","tenant_id","created_at","updated_at","deleted_at") VALUES ($1,$2,$3,$4,$5,$6,$7,$8),($9,$10,$11,$12,$13,$14,$15,$16) ON CONFLICT DO NOTHING RETURNING "id"`},
}

func BenchmarkClassify(b *testing.B) {
	for _, text := range benchTexts {
		b.Run(text.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text.sql)))
			for b.Loop() {
				sqlclass.Classify(sqlclass.PostgreSQL, text.sql)
			}
		})
	}
}

// BenchmarkCacheByText is what a cache of answers by SQL text would cost for each
// statement that is in it: hash, look-up and comparison under a shared lock, by
// all CPUs at once as in a server. It is compared with BenchmarkClassify, which
// needs no memory and does not care how many texts there are.
func BenchmarkCacheByText(b *testing.B) {
	var mu sync.RWMutex
	cache := map[string]sqlclass.Info{}
	for i := range 1000 {
		for _, text := range benchTexts {
			cache[text.sql+strconv.Itoa(i)] = sqlclass.Classify(sqlclass.PostgreSQL, text.sql)
		}
	}
	for _, text := range benchTexts {
		known := text.sql + "500"
		b.Run(text.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					mu.RLock()
					info := cache[known]
					mu.RUnlock()
					if info.Verb == sqlclass.Other {
						b.Error("not in the cache")
					}
				}
			})
		})
	}
}

func TestClassifyDoesNotAllocate(t *testing.T) {
	for _, text := range benchTexts {
		for _, d := range []sqlclass.Dialect{sqlclass.PostgreSQL, sqlclass.SQLServer} {
			assert.Zero(t, testing.AllocsPerRun(100, func() { sqlclass.Classify(d, text.sql) }), "%s, %s", d, text.name)
		}
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		sqlclass.ClassifyCalls(sqlclass.PostgreSQL, "SELECT total(1), app.total(2)", func(string) {})
	}), "names that need not be written otherwise")
	for _, sql := range statements(t, "write.sql") {
		assert.Zero(t, testing.AllocsPerRun(10, func() { sqlclass.Classify(sqlclass.PostgreSQL, sql) }), sql)
	}
}

func TestInfoIsSmall(t *testing.T) {
	assert.EqualValues(t, 3, unsafe.Sizeof(sqlclass.Info{}))
}
