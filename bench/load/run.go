package load

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/readsplit/readsplit/bench/side"
	"github.com/readsplit/readsplit/testenv"
)

// Options say how much is measured.
type Options struct {
	Rounds  int
	Slice   time.Duration
	Clients []int
	Mixes   []Mix
}

// Row is one form under one mix with so many clients.
type Row struct {
	Mix     string
	Clients int
	Form    string
	Slices  []Slice // one for each round
}

// Run measures, and calls each for what was measured of one mix with so many clients.
func Run(ctx context.Context, c *testenv.Cluster, o Options, each func([]Row) error) (err error) {
	var apps []*app
	defer func() {
		for _, a := range apps {
			if e := a.close(); err == nil {
				err = e
			}
		}
	}()
	for _, form := range Forms {
		a, err := open(form, c)
		if err != nil {
			return err
		}
		apps = append(apps, a)
	}
	if err := apps[0].db.AutoMigrate(&Account{}); err != nil {
		return err
	}
	id := 1
	for _, m := range o.Mixes {
		for _, n := range o.Clients {
			rows := make([]Row, len(apps))
			clients := make([][]*client, len(apps))
			for i, a := range apps {
				rows[i] = Row{Mix: m.Name, Clients: n, Form: a.form}
				if clients[i], err = a.newClients(id, n); err != nil {
					return err
				}
				id += n
			}
			if err := c.WaitCaughtUp(ctx); err != nil {
				return err
			}
			for round := range o.Rounds {
				for k := range apps {
					i := (round + k) % len(apps)
					s, err := apps[i].slice(m, clients[i], o.Slice)
					if err != nil {
						return fmt.Errorf("load: %s, %d clients, %s: %w", m.Name, n, apps[i].form, err)
					}
					rows[i].Slices = append(rows[i].Slices, s)
				}
			}
			if err := each(rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// Of returns a median over the slices.
func (r Row) Of(value func(Slice) float64) float64 {
	var values []float64
	for _, s := range r.Slices {
		values = append(values, value(s))
	}
	return side.Median(values)
}

// Missed is how many reads did not show their client's newest write, in all slices.
func (r Row) Missed() (n int) {
	for _, s := range r.Slices {
		n += s.Missed
	}
	return n
}

// Result is the time of one operation by the slices, for ratios.
func (r Row) Result() side.Result {
	res := side.Result{Form: r.Form}
	for _, s := range r.Slices {
		res.Ns = append(res.Ns, float64(time.Second)/s.PerSecond)
	}
	return res
}

// TableHead is the head of the rows that Table writes.
const TableHead = "| mix | clients | by | operations/s | x plain (quartiles) | read p50 | p99 | own read p50 | p99 | write p50 | p99 | on replicas | missed |\n|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"

// Table writes rows of a table in Markdown; the first is what the others are compared with.
func Table(w io.Writer, rows []Row) error {
	for _, r := range rows {
		// Throughput is the inverse of the time of an operation.
		ratio, low, high := side.Ratio(rows[0].Result(), r.Result())
		if _, err := fmt.Fprintf(w, "| %s | %d | %s | %.0f | %.2f (%.2f to %.2f) | %s | %s | %s | %s | %s | %s | %s | %d |\n",
			r.Mix, r.Clients, r.Form, r.Of(func(s Slice) float64 { return s.PerSecond }), ratio, low, high,
			r.ms(func(s Slice) time.Duration { return s.Reads.P50 }), r.ms(func(s Slice) time.Duration { return s.Reads.P99 }),
			r.ms(func(s Slice) time.Duration { return s.Own.P50 }), r.ms(func(s Slice) time.Duration { return s.Own.P99 }),
			r.ms(func(s Slice) time.Duration { return s.Writes.P50 }), r.ms(func(s Slice) time.Duration { return s.Writes.P99 }),
			r.share(), r.Missed()); err != nil {
			return err
		}
	}
	return nil
}

func (r Row) ms(of func(Slice) time.Duration) string {
	v := r.Of(func(s Slice) float64 { return of(s).Seconds() * 1000 })
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f ms", v)
}

func (r Row) share() string {
	v := r.Of(func(s Slice) float64 { return s.OnReplicas })
	if v < 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*v)
}
