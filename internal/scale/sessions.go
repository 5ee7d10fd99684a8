package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/readsplit/readsplit/internal/chart"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// sessions measures users whom a process remembers.
func sessions(options) (string, *chart.Chart, error) {
	ctx := context.Background()
	var lines [][]string
	c := &chart.Chart{Title: "memory of a user", XName: "users", YName: "bytes", Linear: true, Bound: 100, Says: "100 B"}
	drawn := chart.Line{Name: "session.Memory"}
	for _, users := range []int{1_000, 10_000, 100_000, 1_000_000} {
		before := memory()
		m := session.NewMemory(session.MemoryOptions{Lifetime: -1, MaxUsers: users})
		token := session.Token{Issued: time.Now(), Expires: time.Now().Add(time.Hour), Positions: []lsn.Position{{History: lsn.History{System: 7, Timeline: 1, Incarnation: 11}, LSN: 1}}}
		began := processor()
		for i := range users {
			token.Positions[0].LSN = lsn.LSN(i + 1)
			if err := m.Advance(ctx, strconv.Itoa(i), token); err != nil {
				return "", nil, err
			}
		}
		first := float64(processor()-began) / float64(users)
		held := float64(memory()-before) / float64(users)
		const operations = 200_000
		began = processor()
		for i := range operations {
			token.Positions[0].LSN = lsn.LSN(2_000_000 + i)
			if err := m.Advance(ctx, strconv.Itoa(i*7919%users), token); err != nil {
				return "", nil, err
			}
		}
		write := float64(processor()-began) / operations
		began = processor()
		for i := range operations {
			if _, err := m.Load(ctx, strconv.Itoa(i*7919%users)); err != nil {
				return "", nil, err
			}
		}
		read := float64(processor()-began) / operations
		c.X, drawn.Y = append(c.X, float64(users)), append(drawn.Y, held)
		lines = append(lines, []string{fmt.Sprint(users), fmt.Sprintf("%.0f B", held), fmt.Sprintf("%.2f us", first/1000), fmt.Sprintf("%.2f us", write/1000), fmt.Sprintf("%.2f us", read/1000)})
	}
	c.Lines = []chart.Line{drawn}
	return rows([]string{"users", "memory of each", "a new one", "a write of a known one", "a request's Load"}, lines), c, nil
}
