package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
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
		func() (*form, error) { return l.window(300 * time.Millisecond) },
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
	return l.close()
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
	fmt.Fprintf(&b, "%s: %d writes\n\n| after the write | reads | p50 | p99 | in the region | far round trips a read | own writes missing |\n|---|--:|--:|--:|--:|--:|--:|\n", r.form, r.writes)
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
