package readsplit_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What reading ahead costs on a healthy server: Raw(..).Scan reads ahead,
// Raw(..).Find of the same does not.
func BenchmarkReadAhead(b *testing.B) {
	d := newDB(b, cluster(b), configured(boundless))
	require.NoError(b, d.Exec("CREATE TABLE books (id int PRIMARY KEY, title text)").Error)
	require.NoError(b, d.Exec("INSERT INTO books SELECT i, repeat('x', 50) FROM generate_series(1, 100000) i").Error)
	replicasServe(b, d.DB)
	type book struct {
		ID    int64
		Title string
	}
	for name, query := range map[string]string{
		"1 row":     "SELECT id, title FROM books WHERE id = 7",
		"50 rows":   "SELECT id, title FROM books WHERE id <= 50",
		"1000 rows": "SELECT id, title FROM books WHERE id <= 1000",
	} {
		b.Run(name+"/Scan", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var books []book
				require.NoError(b, d.Raw(query).Scan(&books).Error)
			}
		})
		b.Run(name+"/Find", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var books []book
				require.NoError(b, d.Raw(query).Find(&books).Error)
			}
		})
	}
}
