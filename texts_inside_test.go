package readsplit

import (
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/sqlclass"
)

// reader says what texts are, and counts how often it is asked.
type reader struct{ asked int }

func (r *reader) read(text string) sqlclass.Info {
	r.asked++
	return sqlclass.Classify(sqlclass.PostgreSQL, text)
}

// A text is read twice, and remembered from then on; one that comes once is not kept.
func TestTextsAreRemembered(t *testing.T) {
	var r reader
	known := newTexts()
	of := func(text string, version uint64) sqlclass.Info {
		info := known.of(text, version, r.read)
		require.Equal(t, sqlclass.Classify(sqlclass.PostgreSQL, text), info)
		return info
	}
	const read, write = "SELECT * FROM books WHERE id = $1", "UPDATE books SET title = $1"
	for range 5 {
		require.Equal(t, sqlclass.Read, of(read, 1).Class)
	}
	require.Equal(t, 2, r.asked)
	for range 5 {
		require.Equal(t, sqlclass.Write, of(write, 1).Class)
	}
	require.Equal(t, 4, r.asked)

	// The catalogue has changed: whatever was said is asked again.
	for range 5 {
		of(read, 2)
	}
	before := r.asked
	require.Greater(t, before, 4)
	of(read, 2)
	require.Equal(t, before, r.asked)
	of(read, 1)
	require.Equal(t, before+1, r.asked, "and what a newer one said is not said of an older")

	// What comes once takes nobody's place.
	for i := range 10 * textBuckets * textsEach {
		of(fmt.Sprintf("SELECT %d", i), 1)
	}
	before = r.asked
	of(write, 1)
	require.Equal(t, before, r.asked)

	long := "SELECT " + strings.Repeat("1 + ", longestText) + "1"
	before = r.asked
	for range 3 {
		of(long, 1)
	}
	require.Equal(t, before+3, r.asked, "too long to be kept")

	var nobody *texts
	require.Equal(t, sqlclass.Read, nobody.of(read, 0, r.read).Class)
}

// More texts than there are places for push each other out, and are right all the same.
func TestTextsAreBounded(t *testing.T) {
	var r reader
	known := newTexts()
	var texts [textBuckets]int // of each bucket
	for round := range 4 {
		for i := range 4 * textBuckets * textsEach {
			text := fmt.Sprintf("SELECT * FROM t%d", i)
			if i%2 == 0 {
				text = fmt.Sprintf("DELETE FROM t%d", i)
			}
			if round == 0 {
				texts[maphash.String(known.seed, text)%textBuckets]++
			}
			for range 2 {
				require.Equal(t, sqlclass.Classify(sqlclass.PostgreSQL, text), known.of(text, 1, r.read))
			}
		}
	}
	for b := range known.buckets {
		places := 0
		for i := range known.buckets[b].known {
			if known.buckets[b].known[i].Load() != nil {
				places++
			}
		}
		require.Equal(t, min(texts[b], textsEach), places, b)
	}
}

// Texts that come in turn do not keep each other from being remembered, where they have a
// bucket in common.
func TestTextsInTurn(t *testing.T) {
	var r reader
	known := newTexts()
	var turn []string
	for i := 0; len(turn) < textsEach; i++ {
		text := fmt.Sprintf("SELECT * FROM t%d", i)
		if maphash.String(known.seed, text)%textBuckets == 0 {
			turn = append(turn, text)
		}
	}
	for range 1000 {
		for _, text := range turn {
			known.of(text, 1, r.read)
		}
	}
	before := r.asked
	require.Less(t, before, 1000)
	for _, text := range turn {
		known.of(text, 1, r.read)
	}
	require.Equal(t, before, r.asked)
}

func TestTextsConcurrently(t *testing.T) {
	known := newTexts()
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 2000 {
				text := fmt.Sprintf("SELECT * FROM t%d FOR UPDATE", i%300)
				if (i+g)%2 == 0 {
					text = fmt.Sprintf("SELECT * FROM t%d", i%300)
				}
				info := known.of(text, uint64(i/1000), (&reader{}).read)
				if !assert.Equal(t, sqlclass.Classify(sqlclass.PostgreSQL, text), info) {
					return
				}
			}
		})
	}
	all.Wait()
}

func TestTextsCostNoAllocation(t *testing.T) {
	var r reader
	known := newTexts()
	read := r.read
	text := "SELECT * FROM books WHERE id = $1"
	for range 2 {
		known.of(text, 1, read)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { known.of(text, 1, read) }))
	i := 0
	others := make([]string, 102)
	for i := range others {
		others[i] = fmt.Sprint("SELECT ", i)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { known.of(others[i], 1, read); i++ }), "nor does a text that comes once")
}

// BenchmarkClassifyKnown is what it costs to know a text again, beside sqlclass
// BenchmarkClassify and catalog's.
func BenchmarkClassifyKnown(b *testing.B) {
	for _, text := range []string{
		`SELECT * FROM "orders" WHERE "orders"."id" = $1 ORDER BY "orders"."id" LIMIT $2`,
		`SELECT date_trunc('day', o.placed) AS day, count(*), sum(o.amount) FROM orders o JOIN users u ON u.id = o.user_id WHERE o.placed >= now() - interval '30 days' AND u.active GROUP BY 1 ORDER BY coalesce(1, 2)`,
	} {
		b.Run(fmt.Sprint(len(text)), func(b *testing.B) {
			b.ReportAllocs()
			rt := &router{texts: newTexts()}
			for b.Loop() {
				rt.classify(text)
			}
		})
	}
}
