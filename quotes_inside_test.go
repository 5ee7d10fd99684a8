package readsplit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	gormpostgres "gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// shouting quotes names in its own way, and is a dialector of the application's.
type shouting struct{ gorm.Dialector }

func (shouting) QuoteTo(to clause.Writer, name string) { _, _ = to.WriteString(strings.ToUpper(name)) }

func TestQuotesAreTheDialectors(t *testing.T) {
	own := gormpostgres.New(gormpostgres.Config{})
	d := &dialector{own, nil, quotesOf(own)}
	require.NotNil(t, d.quotes)
	names := []string{"orders", "public.orders", `say "x"`, "", "a.b.c", "COUNT(*)", "*", "ключ", strings.Repeat("x", longestQuote+1)}
	for range 2 {
		for _, name := range names {
			var want, got strings.Builder
			own.QuoteTo(&want, name)
			d.QuoteTo(&got, name)
			require.Equal(t, want.String(), got.String(), name)
		}
	}
	require.Len(t, *d.quotes.known.Load(), len(names)-1, "long ones are not remembered")
	for i := range 2 * mostQuotes {
		d.QuoteTo(&strings.Builder{}, strings.Repeat("n", i%longestQuote)+string(rune('a'+i/longestQuote)))
	}
	require.LessOrEqual(t, len(*d.quotes.known.Load()), mostQuotes)
	var late strings.Builder
	d.QuoteTo(&late, "late")
	require.Equal(t, `"late"`, late.String())

	var b strings.Builder
	b.Grow(1 << 10)
	require.Zero(t, testing.AllocsPerRun(10, func() { d.QuoteTo(&b, "orders") }))

	other := shouting{own}
	require.Nil(t, quotesOf(other), "it may look at more than the name")
	(&dialector{other, nil, quotesOf(other)}).QuoteTo(&b, "orders")
	require.True(t, strings.HasSuffix(b.String(), "ORDERS"))
	require.Nil(t, quotesOf(nil))
}
