package budget

import (
	"fmt"
	"strings"

	"github.com/readsplit/readsplit/bench/nullpg"
	"github.com/readsplit/readsplit/bench/overhead"
	"github.com/readsplit/readsplit/bench/side"
)

// Limits of a read over plain GORM: what dbresolver takes for it.
const (
	MostAllocs = 1
	MostBytes  = 160
)

// reads are the cases that have budgets.
var reads = map[string]string{"First": "first", "Find10": "find"}

// Statements measures reads with three replicas and a session beside plain GORM and
// dbresolver, over a driver that answers at once.
func Statements(catalog nullpg.Catalog, o Options) (all []Line, err error) {
	for _, prepare := range []bool{false, true} {
		err := overhead.With(overhead.OfThree(prepare), catalog, func(opened []*overhead.Opened) error {
			for _, c := range overhead.Cases {
				name, ok := reads[c.Name]
				if !ok {
					continue
				}
				if prepare {
					name += "_prepared"
				}
				lines, err := statement(name, side.New(c.Forms(opened), o.Batch/2), o)
				if err != nil {
					return err
				}
				all = append(all, lines...)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func statement(name string, m *side.Meter, o Options) ([]Line, error) {
	const plain, resolver, ours = 0, 1, 2
	r := m.Results()
	spread, err := until(o.Statement, 1, func() error { m.Rounds(1); return nil }, func() side.Spread {
		return side.Ratios(r[ours].CPU, r[resolver].CPU)
	})
	if err != nil {
		return nil, err
	}
	m.Count(100)
	allocs, bytes := side.More(r[plain], r[ours])
	allocsThere, bytesThere := side.More(r[plain], r[resolver])
	overPlain := side.Ratios(r[ours].CPU, r[plain].CPU)
	return []Line{
		{Name: name + "_allocs_over_plain", Measured: allocs, Limit: MostAllocs, Note: fmt.Sprintf("plain %.0f, dbresolver %+.0f", r[plain].LeastAllocs, allocsThere)},
		{Name: name + "_bytes_over_plain", Measured: bytes, Limit: MostBytes, Note: fmt.Sprintf("plain %.0f B, dbresolver %+.0f", r[plain].LeastBytes, bytesThere)},
		{Name: name + "_ns_vs_dbresolver", Measured: spread.Median, Limit: 1, Note: fmt.Sprintf("processor time %s; of the fastest tenths %.3g; %.0f ns, dbresolver %.0f, plain %.0f; over plain %.3g, dbresolver %.3g", spread, side.Fast(r[ours].CPU)/side.Fast(r[resolver].CPU),
			side.Median(r[ours].CPU), side.Median(r[resolver].CPU), side.Median(r[plain].CPU), overPlain.Median, side.Ratios(r[resolver].CPU, r[plain].CPU).Median)},
	}, nil
}

// Known measures what a text takes that the plugin has seen before: how much longer a long
// one takes than a short one, less what that is by plain GORM.
func Known(catalog nullpg.Catalog, o Options) (all []Line, err error) {
	err = overhead.With(overhead.OfThree(false), catalog, func(opened []*overhead.Opened) error {
		opened = []*overhead.Opened{opened[0], opened[2]}
		m := side.New(append(overhead.ShortText.Forms(opened), overhead.LongText.Forms(opened)...), o.Batch/2)
		const limit = 1000
		r := m.Results()
		s, err := until(o.Statement, limit, func() error { m.Rounds(1); return nil }, func() side.Spread {
			var more []float64
			for i := range r[0].CPU {
				more = append(more, r[3].CPU[i]-r[1].CPU[i]-(r[2].CPU[i]-r[0].CPU[i]))
			}
			return side.SpreadOf(more)
		})
		// Of nanoseconds the fastest rounds tell: others can only make one longer.
		fast := func(i int) float64 { return side.Fast(r[i].CPU) }
		all = []Line{{Name: "classify_known_ns", Measured: fast(3) - fast(1) - (fast(2) - fast(0)), Limit: limit, Note: "a long text more than a short one, less what that is by plain GORM, of the fastest tenths, ns; of all rounds: " + s.String()}}
		return err
	})
	return all, err
}

// names puts what was measured of several things into a note.
func names(parts []string) string { return strings.Join(parts, ", ") }
