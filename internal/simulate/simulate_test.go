package simulate

import (
	"encoding/xml"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/policy"
)

// With one server and exponential times the model is one that has a formula
// (Erlang C): what is measured must be what theory says.
func TestAgainstTheory(t *testing.T) {
	for _, load := range []float64{0.3, 0.7} {
		sc := Equal()
		sc.Servers = replicas(1)
		sc.Servers[0].RTT = 0
		sc.Rate, sc.Length = load*most, 42*time.Second
		got := Run(sc, policy.Random(), 5)
		want := mean.Seconds() + erlangC(workers, load*workers)*mean.Seconds()/(workers*(1-load))
		assert.InEpsilon(t, want, got.Mean.Seconds(), 0.05, "at %v of what the server can", load)
		assert.InEpsilon(t, load*most*40, got.Reads, 0.03)
	}
}

// erlangC is the chance of having to wait for one of c workers.
func erlangC(c int, offered float64) float64 {
	sum, term := 0.0, 1.0
	for k := range c {
		sum += term
		term *= offered / float64(k+1)
	}
	last := term * float64(c) / (float64(c) - offered)
	return last / (sum + last)
}

func TestOneSeedIsOneRun(t *testing.T) {
	sc := Zones()
	sc.Length = 4 * time.Second
	again := func(seed uint64) *Result { return Run(sc, policy.ZoneFirst(policy.Latency()), seed) }
	once := again(1)
	assert.Equal(t, once, again(1))
	assert.NotEqual(t, once.P99, again(2).P99)
}

// Every read that arrives is answered, by whoever.
func TestNoReadIsLost(t *testing.T) {
	for _, sc := range []Scenario{Flapping(), OwnWrites()} {
		sc.Length = 10 * time.Second
		a := Run(sc, policy.Random(), 3)
		assert.InEpsilon(t, sc.Rate*8, a.Reads, 0.05, sc.Name)
		sum := 0.0
		for _, share := range a.Share {
			sum += share
		}
		assert.InDelta(t, 1, sum, 1e-9)
	}
}

func TestEventsComeInOrder(t *testing.T) {
	var e events
	r := rand.New(rand.NewPCG(1, 2))
	var got []int
	at := make([]time.Duration, 1000)
	for i := range at {
		at[i] = time.Duration(r.IntN(50))
		e.plan(at[i], func() { got = append(got, i) })
	}
	for next, ok := e.next(); ok; next, ok = e.next() {
		next.do()
	}
	require.Len(t, got, len(at))
	assert.True(t, slices.IsSortedFunc(got, func(a, b int) int {
		if at[a] != at[b] {
			return int(at[a] - at[b])
		}
		return a - b
	}))
}

// The page has every scenario with a row for every balancer, and its plots are small
// and well formed.
func TestThePageIsComplete(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	page, err := os.ReadFile(filepath.Join(docs, "balancing.md"))
	require.NoError(t, err)
	scenarios := Scenarios()
	for _, sc := range scenarios {
		begin, end := Marks(sc)
		_, rest, ok := strings.Cut(string(page), begin)
		require.True(t, ok, begin)
		part, _, ok := strings.Cut(rest, end)
		require.True(t, ok, end)
		assert.Contains(t, part, sc.Says)
		for _, c := range sc.Balancers {
			assert.Contains(t, part, "\n| "+c.Name+" | ", sc.Name)
		}
		plot, err := os.ReadFile(filepath.Join(docs, "balancing", sc.Name+".svg"))
		require.NoError(t, err)
		assert.Less(t, len(plot), 40_000, sc.Name)
		assert.Contains(t, string(plot), "prefers-color-scheme:dark")
		assertWellFormed(t, string(plot))
	}
	files, err := filepath.Glob(filepath.Join(docs, "balancing", "*"))
	require.NoError(t, err)
	assert.Len(t, files, len(scenarios), "plots of nothing")
}

func assertWellFormed(t *testing.T, document string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(document))
	for {
		if _, err := d.Token(); err != nil {
			require.ErrorIs(t, err, io.EOF)
			return
		}
	}
}

func TestPagesAndPlots(t *testing.T) {
	sc := Equal()
	sc.Length = 4 * time.Second
	results := All(sc)
	plot := Plot(sc, results)
	assertWellFormed(t, plot)
	assert.NotContains(t, plot, "NaN")
	assert.NotContains(t, plot, "Inf")
	assert.Equal(t, len(sc.Balancers)+2, strings.Count(Table(sc, results), "\n"))

	begin, end := Marks(sc)
	page, err := Insert("before\n"+begin+"\nold\n"+end+"\nafter\n", sc, "| table |")
	require.NoError(t, err)
	assert.Equal(t, "before\n"+begin+"\n"+sc.Says+"\n\n!["+sc.Says+"](balancing/equal.svg)\n\n| table |\n"+end+"\nafter\n", page)
	_, err = Insert(begin, sc, "")
	require.ErrorContains(t, err, end)
	_, err = Insert(end, sc, "")
	require.ErrorContains(t, err, begin)

	assert.Equal(t, "4.0 ms", short(4*time.Millisecond))
	assert.Equal(t, "977 ms", short(977*time.Millisecond))
	assert.Equal(t, "70.4 s", short(70_400*time.Millisecond))
	assert.Zero(t, quantile(nil, 0.5))
	assert.InDelta(t, math.Log10(4), logMS(4*time.Millisecond), 1e-9)
}
