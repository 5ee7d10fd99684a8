package catalog

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/readsplit/readsplit/sqlclass"
)

// About 200 bytes, as GORM writes for a small model.
const (
	benchRead = `SELECT "users"."id","users"."name","users"."email","users"."age","users"."created_at" FROM "users" ` +
		`WHERE "users"."tenant_id" = $1 AND upper("users"."email") = $2 AND "users"."deleted_at" IS NULL LIMIT 1`
	benchCalls = `SELECT "users"."id","users"."name","users"."email","users"."age",total("users"."id") FROM "users" ` +
		`WHERE "users"."tenant_id" = $1 AND upper("users"."email") = $2 AND "users"."deleted_at" IS NULL LIMIT 1`
	benchView = `SELECT "users"."id","users"."name","users"."email","users"."age","users"."created_at" FROM "open_orders" ` +
		`WHERE "users"."tenant_id" = $1 AND upper("users"."email") = $2 AND "users"."deleted_at" IS NULL LIMIT 1`
	benchColumn = `SELECT "users"."id","users"."name","users"."cache","users"."age","users"."created_at" FROM "users" ` +
		`WHERE "users"."tenant_id" = $1 AND upper("users"."email") = $2 AND "users"."deleted_at" IS NULL LIMIT 1`
)

func BenchmarkJudge(b *testing.B) {
	nothing := &declared{}
	empty, known := newSnapshot(nil, nothing.index()), small(&declared{})
	for _, bench := range []struct {
		name, sql string
		s         *snapshot
		want      sqlclass.Class
	}{
		{"read, no risks", benchRead, empty, sqlclass.Read},
		{"read, risks, none named", benchRead, known, sqlclass.Read},
		{"read, a column named like a risk", benchColumn, known, sqlclass.Read},
		{"read, a risky view", benchView, known, sqlclass.Unknown},
		{"known calls", benchCalls, known, sqlclass.Read},
		{"unknown calls", benchCalls, empty, sqlclass.Unknown},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var c Catalog
			c.snapshot.Store(bench.s)
			info := sqlclass.Classify(sqlclass.PostgreSQL, bench.sql)
			if got := c.Judge(bench.sql, info).Class; got != bench.want {
				b.Fatal(got)
			}
			b.ReportAllocs()
			for b.Loop() {
				c.Judge(bench.sql, info)
			}
		})
	}
	b.Run("classify and known calls", func(b *testing.B) {
		var c Catalog
		c.snapshot.Store(known)
		b.ReportAllocs()
		for b.Loop() {
			c.Classify(benchCalls)
		}
	})
	b.Run("classify alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sqlclass.Classify(sqlclass.PostgreSQL, benchRead)
		}
	})
}

// The memory that the knowledge of 20,000 functions takes.
func BenchmarkSnapshot20000(b *testing.B) {
	f := newFacts()
	for i := range 20000 {
		f.functions = append(f.functions, function{oid: uint32(20000 + i), name: name{fmt.Sprint("s", i%10), fmt.Sprintf("fn_%d_calculate", i)}})
	}
	var before, after runtime.MemStats
	var kept *snapshot
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		kept = newSnapshot(f, (&declared{}).index())
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc), "B/snapshot")
	runtime.KeepAlive(kept)
	runtime.KeepAlive(f)
}
