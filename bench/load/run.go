package load

import (
	"context"
	"errors"
	"fmt"
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

// Bench is forms that are open over the same servers.
type Bench struct {
	cluster *testenv.Cluster
	apps    []*app
	next    int64 // id of the next client
}

// Open opens forms over a cluster. Close ends them.
func Open(c *testenv.Cluster, forms []string) (*Bench, error) {
	b := &Bench{cluster: c, next: 1}
	for _, form := range forms {
		a, err := open(form, c)
		if err != nil {
			return nil, errors.Join(err, b.Close())
		}
		b.apps = append(b.apps, a)
	}
	if err := b.apps[0].db.AutoMigrate(&Account{}); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	last := b.apps[0].db.Model(&Account{}).Select("coalesce(max(id), 0) + 1")
	if err := last.Scan(&b.next).Error; err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Close ends the forms.
func (b *Bench) Close() (err error) {
	for _, a := range b.apps {
		err = errors.Join(err, a.close())
	}
	return err
}

// Race is all forms under one mix with so many clients.
type Race struct {
	Rows    []Row
	mix     Mix
	bench   *Bench
	clients [][]*client
	round   int
}

// Race begins one: the clients' rows are there, and on all servers.
func (b *Bench) Race(ctx context.Context, m Mix, n int) (*Race, error) {
	r := &Race{mix: m, bench: b}
	for _, a := range b.apps {
		clients, err := a.clients(b.next, n)
		if err != nil {
			return nil, err
		}
		b.next += int64(n)
		r.clients = append(r.clients, clients)
		r.Rows = append(r.Rows, Row{Mix: m.Name, Clients: n, Form: a.form})
	}
	return r, b.cluster.WaitCaughtUp(ctx)
}

// Round runs a slice of each form, in turn.
func (r *Race) Round(slice time.Duration) error {
	n := len(r.Rows)
	for k := range n {
		if r.round%2 == 1 {
			k = n - 1 - k
		}
		i := (r.round/2 + k) % n
		s, err := r.bench.apps[i].slice(r.mix, r.clients[i], slice)
		if err != nil {
			return fmt.Errorf("load: %s, %d clients, %s: %w", r.mix.Name, r.Rows[i].Clients, r.Rows[i].Form, err)
		}
		r.Rows[i].Slices = append(r.Rows[i].Slices, s)
	}
	r.round++
	return nil
}

// Warm runs a slice of each form that does not count: connections open, and servers fill
// their caches.
func (r *Race) Warm(slice time.Duration) error {
	if err := r.Round(slice); err != nil {
		return err
	}
	for i := range r.Rows {
		r.Rows[i].Slices = nil
	}
	return nil
}

// Run measures, and calls each for what was measured of one mix with so many clients.
func Run(ctx context.Context, c *testenv.Cluster, o Options, each func([]Row) error) (err error) {
	b, err := Open(c, Forms)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for _, m := range o.Mixes {
		for _, n := range o.Clients {
			r, err := b.Race(ctx, m, n)
			if err != nil {
				return err
			}
			if err := r.Warm(o.Slice / 2); err != nil {
				return err
			}
			for range o.Rounds {
				if err := r.Round(o.Slice); err != nil {
					return err
				}
			}
			if err := each(r.Rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// Values are numbers of the slices.
func (r Row) Values(value func(Slice) float64) []float64 {
	var values []float64
	for _, s := range r.Slices {
		values = append(values, value(s))
	}
	return values
}

// Of returns a median over the slices.
func (r Row) Of(value func(Slice) float64) float64 { return side.Median(r.Values(value)) }

// Missed is how many reads did not show their client's newest write, in all slices.
func (r Row) Missed() (n int) {
	for _, s := range r.Slices {
		n += s.Missed
	}
	return n
}

// PerSecond is the throughput of a slice.
func PerSecond(s Slice) float64 { return s.PerSecond }
