package profile

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/readsplit/readsplit/bench/nullpg"
	"github.com/readsplit/readsplit/bench/overhead"
)

// Run writes, for each case, where readsplit with three replicas and a session allocates
// more than plain GORM, and where it takes its time. Profiles for `go tool pprof` stay in a
// directory.
func Run(ctx context.Context, w io.Writer, catalog nullpg.Catalog, dir string, ops int, d time.Duration) error {
	return overhead.With(overhead.OfThree(false), catalog, func(opened []*overhead.Opened) error {
		for _, c := range overhead.Cases {
			forms := c.Forms(opened)
			plain, ours := forms[0], forms[len(forms)-1]
			if _, err := fmt.Fprintf(w, "%s: memory of one, more than plain GORM\n%s\n", c.Name, Allocations(plain, ours, ops, 10)); err != nil {
				return err
			}
			cpu, err := CPU(ctx, dir, c.Name, ours, d, 10)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%s: processor time, of all (alone, with what it calls)\n%s\n", c.Name, cpu); err != nil {
				return err
			}
		}
		return nil
	})
}
