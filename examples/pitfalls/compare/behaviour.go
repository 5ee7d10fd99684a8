package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/pitfalls/stage"
	"github.com/readsplit/readsplit/testenv"
)

// behaviour is something that applications do, run once over dbresolver and once over
// readsplit.
type behaviour struct {
	name  string // of its file, without .go
	title string // of its row and its paragraph
	story string // what the application does, and why it goes wrong
	ours  string // what readsplit does
	held  []test // what holds readsplit to it
	show  func(ctx context.Context, s *stage.Stage, sz size) (pair, error)
}

// test is one of this repository.
type test struct{ file, name string }

// size is how much of it is measured.
type size struct {
	orders int           // of those who look for their own, while all servers are well
	reads  int           // where one read in two or in four goes wrong
	pause  time.Duration // how long replay stands still for those who only read
	idle   time.Duration // how long an application does nothing, before and while it is watched
}

// pair is what was measured of a behaviour.
type pair struct{ dbresolver, readsplit cell }

// cell is a measured fact. It holds if the page may say so: of dbresolver, that what the
// page tells has shown itself; of readsplit, that it did what it promises.
type cell struct {
	says  string
	holds bool
}

// run shows a behaviour in a database of its own, and leaves the servers as they were.
func (b behaviour) run(ctx context.Context, cluster *testenv.Cluster, sz size) (p pair, err error) {
	err = stage.Play(ctx, cluster, "compare_"+b.name, func(ctx context.Context, s *stage.Stage) (err error) {
		p, err = b.show(ctx, s, sz)
		return err
	})
	if err != nil {
		return pair{}, fmt.Errorf("compare: %s: %w", b.name, err)
	}
	return p, nil
}

// verdict is the end of a behaviour's line. A fault of dbresolver that did not show proves
// nothing about readsplit, and is as bad as one of readsplit.
func (p pair) verdict() string {
	var wrong []string
	if !p.dbresolver.holds {
		wrong = append(wrong, "the page says otherwise of dbresolver")
	}
	if !p.readsplit.holds {
		wrong = append(wrong, "readsplit did not do what it promises")
	}
	if wrong == nil {
		return "ok"
	}
	return "NOT OK: " + strings.Join(wrong, ", ")
}

// line is for a person who waits, and for scripts.
func (b behaviour) line(p pair) string {
	return fmt.Sprintf("compare: %s dbresolver=%q readsplit=%q %s", b.name, p.dbresolver.says, p.readsplit.says, p.verdict())
}

// tally counts what went wrong, of how many.
type tally struct {
	n, of int
	first error // of those that went wrong by an error
}

// add counts one. It has gone wrong if bad says so or there is an error.
func (t *tally) add(bad bool, err error) {
	t.of++
	if bad || err != nil {
		t.n++
	}
	if t.first == nil {
		t.first = err
	}
}

func (t tally) none() bool { return t.n == 0 && t.of > 0 }
func (t tally) all() bool  { return t.n == t.of && t.of > 0 }
func (t tally) some() bool { return t.n > 0 }

// cell is what was counted, with the first error.
func (t tally) cell(what string, holds bool) cell {
	says := fmt.Sprintf("%s of %s %s", number(t.n), number(t.of), what)
	if t.first != nil {
		says += ": " + said(t.first)
	}
	return cell{says, holds}
}

// said is what a server said, as it is quoted.
func said(err error) string {
	text := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "SQLSTATE ", ""), "ERROR: ")
	return "`" + strings.ReplaceAll(text, "\n", " ") + "`"
}

// and is p with what else was measured of the same.
func (p pair) and(also pair, between string) pair {
	join := func(a, b cell) cell { return cell{a.says + between + b.says, a.holds && b.holds} }
	return pair{join(p.dbresolver, also.dbresolver), join(p.readsplit, also.readsplit)}
}

// number has a comma before its thousands.
func number(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", number(n/1000), n%1000)
}

// both opens the primary twice, with either plugin in front of both replicas.
func both(ctx context.Context, s *stage.Stage, change func(*readsplit.Config)) (naive, routed *gorm.DB, err error) {
	if naive, err = s.DBResolver(s.Cluster.Replicas()...); err != nil {
		return nil, nil, err
	}
	routed, _, err = s.Split(ctx, change, s.Cluster.Replicas()...)
	return naive, routed, err
}

// each shows the same over both, and what went wrong: everything or nothing.
func each(naive, routed *gorm.DB, what string, show func(db *gorm.DB, nth int) (tally, error)) (pair, error) {
	lost, err := show(naive, 0)
	if err != nil {
		return pair{}, err
	}
	kept, err := show(routed, 1)
	return pair{lost.cell(what, lost.all()), kept.cell(what, kept.none())}, err
}
