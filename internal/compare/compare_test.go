package compare

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// leastPrograms is how many programs there must be for the comparison to be worth
// its name.
const leastPrograms = 250

func TestPrograms(t *testing.T) {
	all := slices.DeleteFunc(slices.Concat(programs...), func(p program) bool { return !strings.Contains(p.name, *only) })
	names := map[string]bool{}
	for _, p := range all {
		require.False(t, names[p.name], "two programs are called %q", p.name)
		names[p.name] = true
	}
	for name := range wanted {
		if !strings.Contains(name, *only) {
			continue
		}
		require.True(t, names[name], "the list of wanted differences names %q, which is no program", name)
	}
	if *only == "" {
		require.GreaterOrEqual(t, len(all), leastPrograms)
	}

	require.NoError(t, cluster.CreateDatabase(t.Context(), "compared"))
	makeTables(t)
	differ := make(map[string][]string) // modes, by program
	for i, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			for name := range compareIn(t, m, dealt(all, i)) {
				differ[name] = append(differ[name], m.name)
			}
		})
	}
	for _, p := range all {
		w, isWanted := wanted[p.name]
		switch {
		case !isWanted:
			if len(differ[p.name]) > 0 {
				result.differences.Add(1)
			}
			result.programs.Add(1)
			continue
		case *control:
			continue
		case len(w.modes) == 0:
			for _, m := range modes {
				w.modes = append(w.modes, m.name)
			}
		}
		result.wanted.Add(1)
		if !assert.Equal(t, w.modes, differ[p.name], "program %q must differ in these modes: %s", p.name, w.reason) {
			result.differences.Add(1)
		}
	}
	if *control || *only != "" {
		return
	}
	require.Zero(t, result.differences.Load())
	replica, primary := result.replicaReads.Load(), result.primaryReads.Load()
	require.Greater(t, replica, primary, "nothing is compared when the primary serves most reads")
}

// control compares plain GORM with itself: a program that differs then depends on
// chance, and says nothing about readsplit.
var control = flag.Bool("control", false, "compare plain GORM with plain GORM")

// only chooses programs.
var only = flag.String("only", "", "run only the programs with this in their name")

func otherSide() string {
	if *control {
		return "plain_again"
	}
	return "readsplit"
}

// dealt returns the programs that are run in a mode: all, and in the short form of
// make test each in one mode, but for those that must differ.
func dealt(all []program, mode int) (some []program) {
	if !testing.Short() {
		return all
	}
	for i, p := range all {
		if _, isWanted := wanted[p.name]; isWanted || i%len(modes) == mode {
			some = append(some, p)
		}
	}
	return some
}

// compareIn runs programs on both sides and returns those that differ.
func compareIn(t *testing.T, m mode, all []program) map[string]bool {
	sides := []*side{openSide(t, m, "plain"), openSide(t, m, otherSide())}
	differ := map[string]bool{}
	for _, p := range all {
		w, isWanted := wanted[p.name]
		var deadline time.Time
		if isWanted && (w.modes == nil || slices.Contains(w.modes, m.name)) && !*control {
			deadline = time.Now().Add(patience)
		}
		for again := true; again; again = !differ[p.name] && time.Now().Before(deadline) {
			saw, err := onBoth(t.Context(), sides, p)
			require.NoError(t, err)
			if slices.Equal(saw[0], saw[1]) {
				continue
			}
			differ[p.name] = true
			if !isWanted || *control {
				t.Errorf("program %q differs:\n%s", p.name, difference(saw[0], saw[1]))
			}
		}
	}
	return differ
}

// onBoth runs a program on both sides at once and returns what each saw.
func onBoth(ctx context.Context, sides []*side, p program) (saw [2][]string, err error) {
	var errs [2]error
	var both sync.WaitGroup
	for i, s := range sides {
		both.Go(func() { saw[i], errs[i] = s.execute(ctx, p) })
	}
	both.Wait()
	result.runs.Add(2)
	return saw, errors.Join(errs[:]...)
}

// difference prints both sides from two lines before the first that is not the
// same.
func difference(plain, readsplit []string) string {
	first := 0
	for first < min(len(plain), len(readsplit)) && plain[first] == readsplit[first] {
		first++
	}
	first = max(0, first-2)
	var b strings.Builder
	for _, s := range []struct {
		name  string
		lines []string
	}{{"plain GORM", plain}, {"readsplit", readsplit}} {
		fmt.Fprintf(&b, "--- %s, from line %d of %d\n", s.name, first+1, len(s.lines))
		lines := s.lines[min(first, len(s.lines)):]
		for _, line := range lines[:min(len(lines), 12)] {
			fmt.Fprintln(&b, line)
		}
	}
	return b.String()
}

// makeTables makes the tables that every program begins with, in the database
// that all others are copies of.
func makeTables(t *testing.T) {
	t.Helper()
	db, err := gorm.Open(postgres.Open(cluster.Primary().DSNFor("compared")), &gorm.Config{})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	defer func() { require.NoError(t, pool.Close()) }()
	require.NoError(t, db.AutoMigrate(tables...))
	require.NoError(t, db.Exec(moreTables).Error)
}
