package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/readsplit/readsplit/examples/webshop/app"
	"github.com/readsplit/readsplit/examples/webshop/journey"
	"github.com/readsplit/readsplit/examples/webshop/stage"
)

// journeys has customers order and look at their list while replay is delayed and
// paused, and judges what they have seen.
func journeys(ctx context.Context, o options, out, errOut io.Writer) error {
	s, err := stage.Start(ctx, stage.Options{
		Version: o.version, Plugin: o.plugin, NoSessions: !o.sessions, Errors: errOut,
		Settings: map[string]string{"shared_preload_libraries": journey.Extension},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "PostgreSQL %s, a primary and two replicas; two processes of the shop behind a proxy; plugin %s; seed %d; %s, %d processors\n\n",
		s.Cluster.Version(), o.plugin, o.seed, runtime.Version(), runtime.NumCPU())
	show := newProgress(errOut)
	tour, err := travel(ctx, o, s, show)
	show.clear()
	counted, closed := s.Close(context.WithoutCancel(ctx))
	if err := errors.Join(err, closed); err != nil {
		return err
	}
	return tour.judge(o, counted, out)
}

// promised: nobody may miss anything.
func (o options) promised() bool { return o.plugin == "readsplit" && o.sessions }

// tour is what a run has shown.
type tour struct {
	shop    *journey.Shop
	outcome *journey.Outcome
	costs   []journey.Cost
	servers map[string]uint64 // reads on each replica, as the replica says
}

func travel(ctx context.Context, o options, s *stage.Stage, show *progress) (t *tour, err error) {
	weather := stage.NewWeather(s.Cluster, o.seed)
	weather.Pace = o.pace
	t = &tour{shop: journey.NewShop(s.URL, weather)}
	defer t.shop.Close()
	if err := journey.CountReads(ctx, s); err != nil {
		return nil, err
	}
	if o.promised() {
		show.label("measuring what sessions cost")
		bare, err := s.Add(ctx, "without sessions", false)
		if err != nil {
			return nil, err
		}
		if t.costs, err = journey.Measure(ctx, s.Processes[0], bare, weather, o.pairs); err != nil {
			return nil, err
		}
	}
	blowing, calm := context.WithCancel(ctx)
	blown := make(chan error, 1)
	if o.behind > 0 {
		blown <- weather.Stay(ctx, o.behind)
	} else {
		go func() { blown <- weather.Blow(blowing) }()
	}
	plan := journey.Plan{Total: o.total, Seed: o.seed, Rate: o.rate, Done: func(n int) { show.at(n, o.total) }}
	t.outcome, err = plan.Run(ctx, t.shop)
	calm()
	if err := errors.Join(err, <-blown); err != nil {
		return nil, err
	}
	t.servers, err = journey.ReadsOnReplicas(ctx, s)
	return t, err
}

// judge prints what the run has shown, the line for programs last, and returns what is
// not as it has to be.
func (t *tour) judge(o options, counted app.Report, out io.Writer) error {
	tally := t.shop.Tally
	fmt.Fprintln(out, tally.Table())
	fmt.Fprintf(out, "why the reads went where they went:\n%s\n", tally.Reasons())
	if t.costs != nil {
		fmt.Fprintf(out, "%s(the same requests in turn to two processes, one without the sessions around its handler; nobody else is in the shop)\n\n", journey.CostTable(t.costs))
	}
	fmt.Fprintf(out, "retries: %d reads were run again elsewhere, %d answers were dropped; captures of the primary's position: %d; tokens that were not accepted: %d\n",
		counted.Retries, counted.Voided, counted.Captures, counted.BadTokens)
	fmt.Fprintln(out, tally.Lists())
	fmt.Fprint(out, t.outcome)
	fmt.Fprintln(out, tally.Shares())

	var problems []error
	for i, err := range t.outcome.Failed {
		if i == 5 {
			problems = append(problems, fmt.Errorf("... and %d more", len(t.outcome.Failed)-i))
			break
		}
		problems = append(problems, err)
	}
	problems = append(problems, t.witnesses(counted))
	switch missing := t.outcome.Missing; {
	case !o.promised():
		if missing == 0 {
			problems = append(problems, errors.New("nobody misses anything, although nobody has promised that: these journeys prove nothing"))
		}
	case missing > 0:
		problems = append(problems, fmt.Errorf("%d customers miss what they have written", missing))
	default:
		problems = append(problems, tally.Undisturbed())
	}
	err := errors.Join(problems...)
	if err != nil {
		fmt.Fprintf(out, "NOT as it has to be:\n%v\n", err)
	}
	fmt.Fprintln(out, t.outcome.Line(tally))
	if err != nil {
		return errors.New("webshop: not all is as it has to be, see above")
	}
	return nil
}

// witnesses compares what the processes say of the replicas with what these say
// themselves.
func (t *tour) witnesses(counted app.Report) error {
	// A read that failed may or may not have been counted by its server.
	doubt := counted.Failed + counted.Retries + counted.Voided
	var errs []error
	for name, n := range t.servers {
		if said := counted.Reads[name]; said > n+doubt || n > said+doubt {
			errs = append(errs, fmt.Errorf("%s has run %d reads, and the processes say %d (%d in doubt)", name, n, said, doubt))
		}
	}
	return errors.Join(errs...)
}
