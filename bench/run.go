package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/readsplit/readsplit/bench/budget"
	"github.com/readsplit/readsplit/bench/load"
	"github.com/readsplit/readsplit/bench/overhead"
	"github.com/readsplit/readsplit/bench/parts"
	"github.com/readsplit/readsplit/bench/profile"
	"github.com/readsplit/readsplit/bench/ratios"
	"github.com/readsplit/readsplit/bench/report"
	"github.com/readsplit/readsplit/bench/side"
	"github.com/readsplit/readsplit/internal/chart"
)

// options are the flags.
type options struct {
	page, version, part, out, only string

	rounds, loadRounds int
	batch, slice, long time.Duration
	short, anyway      bool
}

var known = []string{"overhead", "parts", "profile", "load", "budget"}

// quick is the part that is for nobody but whoever works on readsplit: no page has it.
const quick = "ratios"

func parse(args []string) (o options, other bool, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.part, "part", "", strings.Join(known, ", ")+"; all of them without it; or "+quick)
	flags.StringVar(&o.page, "page", "", "write what all of it measures into this page, and its plots beside it")
	flags.StringVar(&o.version, "pg", "", "the PostgreSQL to use")
	flags.StringVar(&o.out, "out", "bin/bench", "a folder for what benchstat and pprof read")
	flags.IntVar(&o.rounds, "rounds", 21, "rounds over the driver that answers at once")
	flags.DurationVar(&o.batch, "batch", 10*time.Millisecond, "how long one form takes in each of them")
	flags.IntVar(&o.loadRounds, "load-rounds", 10, "rounds on real servers")
	flags.DurationVar(&o.slice, "slice", 300*time.Millisecond, "how long one form takes in each of them")
	flags.StringVar(&o.only, "only", "", "the statements of "+quick+", with commas between them; all without it")
	flags.DurationVar(&o.long, "for", 15*time.Second, "how long "+quick+" takes")
	flags.BoolVar(&o.short, "short", false, "a fifth of everything")
	flags.BoolVar(&o.anyway, "anyway", false, "write the page, as a draft, although less is measured than it tells of")
	if err := flags.Parse(args); err != nil {
		return o, false, err
	}
	if flags.NArg() > 0 {
		return o, false, fmt.Errorf("bench: %q is too much", flags.Arg(0))
	}
	if o.part != "" && o.part != quick && !slices.Contains(known, o.part) {
		return o, false, fmt.Errorf("bench: there is no part %q: it is one of %s, %s", o.part, strings.Join(known, ", "), quick)
	}
	other = chart.Other(flags)
	if o.short {
		o.rounds, o.loadRounds = 5, 3
		o.slice /= 2
	}
	return o, other, nil
}

// has says whether a part is to be measured.
func (o options) has(part string) bool { return o.part == "" || o.part == part }

func run(ctx context.Context, w io.Writer, args []string) (err error) {
	o, other, err := parse(args)
	if err != nil {
		return err
	}
	s, err := start(ctx, o.version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	var version string
	if err := s.db.QueryRowContext(ctx, "SHOW server_version").Scan(&version); err != nil {
		return err
	}
	m := report.Measured{Host: report.Host(version), Amount: o.amount(other)}
	_, _ = fmt.Fprintf(w, "%s\n\n", m.Host)
	if o.part == quick {
		return ratios.Run(w, s.catalog, o.ratios())
	}
	for _, part := range known {
		if !o.has(part) {
			continue
		}
		began := time.Now()
		if part == "budget" && o.part == "" {
			// The page tells what is over; its own command fails for it.
			if err := o.measure(ctx, w, s, part, &m); err != nil && !errors.Is(err, errOver) {
				return err
			}
		} else if err := o.measure(ctx, w, s, part, &m); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w, "\n%s took %s\n\n", part, time.Since(began).Round(time.Second))
	}
	if o.part != "" {
		return nil
	}
	_, _ = fmt.Fprintf(w, "where we lose\n\n%s\n", report.Lose(m))
	switch {
	case o.page == "":
		return nil
	case other && !o.anyway:
		_, _ = fmt.Fprintf(w, "%s stays as it is: it says what the defaults measure\n", o.page)
		return nil
	}
	before, err := os.ReadFile(filepath.Join(strings.TrimSuffix(o.page, filepath.Ext(o.page)), "profile-before.txt"))
	if err == nil {
		m.Before = string(before)
	}
	if err := report.Write(o.page, m); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(w, "written:", o.page)
	return nil
}

func (o options) ratios() ratios.Options {
	r := ratios.Options{For: o.long, Batch: o.batch / 5}
	if o.only != "" {
		r.Only = strings.Split(o.only, ",")
	}
	return r
}

func (o options) amount(other bool) string {
	draft := ""
	if other {
		draft = "**A draft: less was measured than the command measures without flags.** "
	}
	return draft + fmt.Sprintf("%d rounds of %s of each form over the driver that answers at once; %d rounds of %s on real servers.", o.rounds, o.batch, o.loadRounds, o.slice)
}

func (o options) measure(ctx context.Context, w io.Writer, s *servers, part string, m *report.Measured) (err error) {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	switch part {
	case "overhead":
		return o.overhead(ctx, w, s, m)
	case "parts":
		m.Parts, err = o.parts(ctx, w, s)
		return err
	case "profile":
		var b strings.Builder
		err = profile.Run(ctx, io.MultiWriter(w, &b), s.catalog, o.out, 1000, time.Duration(o.rounds)*100*time.Millisecond)
		m.Profile = b.String()
		return err
	case "load":
		mix := ""
		return load.Run(ctx, s.cluster, load.Options{Rounds: o.loadRounds, Slice: o.slice, Clients: []int{1, 8, 64}, Mixes: load.Mixes}, func(rows []load.Row) error {
			m.Load = append(m.Load, rows)
			if rows[0].Mix != mix {
				mix = rows[0].Mix
				_, _ = fmt.Fprintf(w, "\n%s\n\n%s", mix, load.TableHead)
			}
			_, err := fmt.Fprint(w, load.Table(rows))
			return err
		})
	default:
		limits := budget.Defaults()
		if o.short {
			limits = limits.Short(5)
		}
		m.Budgets, err = budgets(ctx, w, s, limits)
		return err
	}
}

func (o options) overhead(ctx context.Context, w io.Writer, s *servers, m *report.Measured) (err error) {
	var b strings.Builder
	m.Overhead, err = overhead.Run(s.catalog, func(forms []side.Form) []side.Result {
		return side.Measure(forms, o.rounds, o.batch)
	})
	if err != nil {
		return err
	}
	for i, x := range m.Overhead {
		if i == 0 || m.Overhead[i-1].Prepare != x.Prepare {
			_, _ = fmt.Fprintf(w, "\nPrepareStmt: %t\n\n%s", x.Prepare, side.TableHead)
		}
		_, _ = fmt.Fprint(w, side.Table(x.Case, x.Results))
		if err := side.Benchstat(&b, fmt.Sprintf("%s/prepare=%t", x.Case, x.Prepare), x.Results); err != nil {
			return err
		}
	}
	file := filepath.Join(o.out, "overhead.txt")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		return err
	}
	m.Benchstat = benchstat(ctx, w, file)
	return nil
}

func (o options) parts(ctx context.Context, w io.Writer, s *servers) (p report.Parts, err error) {
	measure := func(op func(int)) side.Alone { return side.MeasureAlone(op, 2*o.rounds, o.batch/2) }
	p = report.Parts{Decisions: parts.Decisions(measure), Situations: parts.Situations(measure), Policies: parts.Policies(measure), Picks: parts.Picks(measure)}
	if p.Texts, err = parts.Texts(ctx, s.db, measure); err != nil {
		return p, err
	}
	if p.Tokens, err = parts.Tokens(measure); err != nil {
		return p, err
	}
	p.Users = 1_000_000
	if o.short {
		p.Users /= 10
	}
	if p.SessionBytes, err = parts.SessionBytes(ctx, p.Users); err != nil {
		return p, err
	}
	_, err = fmt.Fprint(w, p)
	return p, err
}
