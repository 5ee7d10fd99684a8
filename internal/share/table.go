package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/readsplit/readsplit/internal/chart"
)

// block is the cells of one delay.
type block struct {
	delay  time.Duration // that was asked for
	behind time.Duration // that was measured
	cells  []*result     // of the process, and of users, by rate
}

func run(ctx context.Context, o options) error {
	l, err := newLab(ctx, o.version, o.users)
	if err != nil {
		return err
	}
	blocks, err := l.blocks(ctx, o)
	if err = errors.Join(err, l.close()); err != nil || o.page == "" {
		return err
	}
	text := ""
	for _, b := range blocks {
		text += b.table() + "\n"
	}
	fmt.Println("written:", o.page)
	return chart.Write(o.page, "real", text, plot(o, blocks))
}

func (l *lab) blocks(ctx context.Context, o options) (all []*block, err error) {
	for _, d := range o.delays {
		b := &block{delay: d}
		end, err := l.delay(ctx, d)
		if err != nil {
			return nil, err
		}
		if b.behind, err = l.behind(ctx); err != nil {
			return nil, err
		}
		for _, sessions := range []bool{false, true} {
			for _, writes := range o.rates {
				r, err := l.measure(ctx, cell{writes: writes, sessions: sessions, length: o.length, reads: o.reads, warm: min(o.length/2, time.Second)})
				if err != nil {
					return nil, err
				}
				b.cells = append(b.cells, r)
			}
		}
		if err := end(); err != nil {
			return nil, err
		}
		fmt.Println(b.table())
		all = append(all, b)
	}
	return all, nil
}

func (b *block) table() string {
	var t strings.Builder
	fmt.Fprintf(&t, "**Replicas %s behind**\n\n", ms(b.behind))
	t.WriteString("| who must see a write | writes/s | reads | on replicas | p50 | p99 | plain p50 | plain p99 | waited | of them in vain | captures/s | on the primary, because | missing |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|\n")
	for _, r := range b.cells {
		who := "the process"
		if r.sessions {
			who = "the user"
		}
		fmt.Fprintf(&t, "| %s | %.0f | %d | %.1f %% | %s | %s | %s | %s | %d | %d | %.0f | %s | %d |\n", who, r.written, len(r.took), 100*r.share(),
			ms(quantile(r.took, 0.5)), ms(quantile(r.took, 0.99)), ms(quantile(r.plain, 0.5)), ms(quantile(r.plain, 0.99)), r.waited, r.vain, r.captures, r.why(), r.missing)
	}
	return t.String()
}

func ms(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

// plot draws the share of reads on replicas by what is written.
func plot(o options, blocks []*block) *chart.Chart {
	c := &chart.Chart{Title: "reads on replicas, by how much the process writes", XName: "writes a second", YName: "reads on replicas, %", Linear: true}
	for _, w := range o.rates {
		c.X, c.Labels = append(c.X, float64(w)), append(c.Labels, fmt.Sprint(w))
	}
	for _, sessions := range []bool{false, true} {
		for _, b := range blocks {
			if b.delay == 0 {
				continue
			}
			l := chart.Line{Name: fmt.Sprintf("%v, one for all", b.delay)}
			if sessions {
				l.Name = fmt.Sprintf("%v, a session a user", b.delay)
			}
			for _, r := range b.cells {
				if r.sessions == sessions {
					l.Y = append(l.Y, 100*r.share())
				}
			}
			c.Lines = append(c.Lines, l)
		}
	}
	return c
}
