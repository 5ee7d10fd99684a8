package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/readsplit/readsplit/internal/chart"
)

func run(ctx context.Context, o options) error {
	l, err := newLab(ctx, o)
	if err != nil {
		return err
	}
	var results []*result
	for _, open := range []func() (*form, error){
		l.readsplit, l.plain,
		func() (*form, error) { return l.window(5 * time.Second) },
		func() (*form, error) { return l.window(200 * time.Millisecond) },
	} {
		f, err := open()
		if err != nil {
			return errors.Join(err, l.close())
		}
		if o.only != "" && !strings.HasPrefix(f.name, o.only) {
			_ = f.close()
			continue
		}
		r, err := l.measure(ctx, f)
		if err := errors.Join(err, f.close()); err != nil {
			return errors.Join(err, l.close())
		}
		results = append(results, r)
		fmt.Println(r.table())
	}
	if err := l.close(); err != nil {
		return err
	}
	if len(results) == 0 {
		return fmt.Errorf("there is no form %q: readsplit, plain GORM, a window of 5s, a window of 200ms", o.only)
	}
	if o.page == "" {
		return nil
	}
	fmt.Println("written:", o.page)
	text := ""
	for _, r := range results {
		text += r.table() + "\n"
	}
	return chart.Write(o.page, "regions", text, plot(results))
}

// plot draws how many ways to the primary and back a read makes.
func plot(results []*result) *chart.Chart {
	c := &chart.Chart{Title: "far round trips of a read, by the age of its session's last write", XName: "after the write", YName: "far round trips a read", Linear: true}
	for i := range len(ages) + 1 {
		c.X = append(c.X, float64(i))
		switch i {
		case len(ages):
			c.Labels = append(c.Labels, "never")
		default:
			c.Labels = append(c.Labels, ages[i].String())
		}
	}
	for _, r := range results {
		l := chart.Line{Name: r.form}
		for i := range r.buckets {
			y := math.NaN()
			if n := len(r.buckets[i].took); n > 0 {
				y = float64(r.buckets[i].trips) / float64(n)
			}
			l.Y = append(l.Y, y)
		}
		c.Lines = append(c.Lines, l)
	}
	return c
}

func label(i int) string {
	switch {
	case i == len(ages):
		return "never wrote"
	case i == len(ages)-1:
		return fmt.Sprintf("%v and more", ages[i])
	}
	return fmt.Sprintf("%v to %v", ages[i], ages[i+1])
}

func (r *result) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**, %d writes\n\n| after the write | reads | p50 | p99 | in the region | far round trips a read | own writes missing |\n|---|--:|--:|--:|--:|--:|--:|\n", r.form, r.writes)
	for i := range r.buckets {
		x := &r.buckets[i]
		n := max(len(x.took), 1)
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %.1f %% | %.2f | %d |\n", label(i), len(x.took), ms(x.quantile(0.5)), ms(x.quantile(0.99)),
			100*float64(x.local)/float64(n), float64(x.trips)/float64(n), x.missing)
	}
	return b.String()
}

func ms(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
