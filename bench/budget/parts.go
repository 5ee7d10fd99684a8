package budget

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/readsplit/readsplit/bench/parts"
	"github.com/readsplit/readsplit/bench/side"
)

// worst is the greatest of several numbers, and which it is.
type worst struct {
	measured float64
	parts    []string
}

func (w *worst) see(name string, v float64) {
	w.measured = max(w.measured, v)
	w.parts = append(w.parts, fmt.Sprintf("%s %.4g", name, v))
}

func (w worst) line(name string, limit float64, what string) Line {
	return Line{Name: name, Measured: w.measured, Limit: limit, Note: what + ": " + names(w.parts)}
}

// Parts measures decisions, classification, tokens and remembered users, each alone.
func Parts(ctx context.Context, dsn string, o Options) (all []Line, err error) {
	measure := func(op func(int)) side.Alone { return side.MeasureAlone(op, 20, o.Batch/2) }
	var allocs, three, thousand worst
	decisions, situations, policies := parts.Decisions(measure), parts.Situations(measure), parts.Policies(measure)
	for _, line := range slices.Concat(decisions, situations, policies) {
		allocs.see(line.Name, line.Allocs())
	}
	for _, line := range decisions {
		three.see(line.Name, line.At(3).CPU)
	}
	for _, line := range slices.Concat(decisions, situations) {
		thousand.see(line.Name, line.At(1000).CPU)
	}
	all = append(all,
		allocs.line("decide_allocs", 0, "of one decision"),
		three.line("decide_ns_3", 100, "the least of 20 slices, each balancer"),
		thousand.line("decide_ns_1000", 5000, "the least of 20 slices"),
	)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	texts, err := parts.Texts(ctx, db, measure)
	if err != nil {
		return nil, err
	}
	var alone, encode, verify worst
	for _, t := range texts {
		alone.see(t.Name, t.Alone.CPU)
		alone.parts = append(alone.parts, fmt.Sprintf("with the catalogue %.4g", t.Judged.CPU))
	}
	tokens, err := parts.Tokens(measure)
	if err != nil {
		return nil, err
	}
	for _, t := range tokens {
		encode.see(t.Name, t.Encode.CPU)
		verify.see(t.Name, t.Verify.CPU)
	}
	held, err := parts.SessionBytes(ctx, o.Users)
	if err != nil {
		return nil, err
	}
	return append(all,
		alone.line("classify_ns", 1000, "by the text, ns"),
		encode.line("token_encode_ns", 2000, "signed, ns"),
		verify.line("token_verify_ns", 2000, "signed, ns"),
		Line{Name: "session_bytes", Measured: held, Limit: 100, Note: fmt.Sprintf("of each of %d users whom a process remembers", o.Users)},
	), nil
}
