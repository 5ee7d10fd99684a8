package ratios

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/readsplit/readsplit/bench/nullpg"
	"github.com/readsplit/readsplit/bench/overhead"
	"github.com/readsplit/readsplit/bench/side"
)

// Options say what is measured, and for how long.
type Options struct {
	Only  []string      // cases; none: all
	For   time.Duration // altogether
	Batch time.Duration // of one form in one round: the shorter, the fewer of them are disturbed
}

const head = "%-22s %8s %11s %10s   %-22s %s\n"

// Run measures statements in turns with three replicas and a session, and writes a line for
// each: processor time of the fastest tenth of rounds, and what readsplit takes beside
// dbresolver and plain GORM, by the fastest tenths and (in parentheses) by the median of the
// rounds' ratios.
func Run(w io.Writer, catalog nullpg.Catalog, o Options) error {
	cases := overhead.Cases
	if len(o.Only) > 0 {
		cases = slices.DeleteFunc(slices.Clone(cases), func(c overhead.Case) bool { return !slices.Contains(o.Only, c.Name) })
		if len(cases) != len(o.Only) {
			return fmt.Errorf("ratios: %v is not a list of cases", o.Only)
		}
	}
	each := o.For / time.Duration(2*len(cases))
	_, _ = fmt.Fprintf(w, head, "ns", "plain", "dbresolver", "readsplit", "x dbresolver", "x plain")
	for _, prepare := range []bool{false, true} {
		err := overhead.With(overhead.OfThree(prepare), catalog, func(opened []*overhead.Opened) error {
			for _, c := range cases {
				m := side.New(c.Forms(opened), o.Batch)
				for end := time.Now().Add(each); time.Now().Before(end); {
					m.Rounds(1)
				}
				if _, err := fmt.Fprint(w, line(overhead.Measured{Case: c.Name, Prepare: prepare}.Name(), m.Results())); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// line is of the three forms of [overhead.OfThree].
func line(name string, r []side.Result) string {
	plain, resolver, ours := r[0].CPU, r[1].CPU, r[2].CPU
	ratio := func(than []float64) string {
		return fmt.Sprintf("%.3f (%.3f)", side.Fast(ours)/side.Fast(than), side.Ratios(ours, than).Median)
	}
	ns := func(v []float64) string { return fmt.Sprintf("%.0f", side.Fast(v)) }
	return fmt.Sprintf(head, name, ns(plain), ns(resolver), ns(ours), ratio(resolver), ratio(plain))
}
