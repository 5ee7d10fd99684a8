package corpus

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/sqlclass"
)

// The time and the seed of TestDifferential: a few seconds in every run, longer by
// go test ./internal/corpus -run TestDifferential -mutate 10m, or READSPLIT_MUTATE=10m.
var (
	mutate     = flag.Duration("mutate", 5*time.Second, "how long TestDifferential makes new statements")
	mutateSeed = flag.Uint64("mutate-seed", 0, "seed of TestDifferential; 0: from the clock")
)

// TestDifferential runs mutated statements on a standby: what lexer and catalogue
// call a read, the standby must not refuse as a write, and nothing must be left of it.
func TestDifferential(t *testing.T) {
	if text, ok := os.LookupEnv("READSPLIT_MUTATE"); ok {
		d, err := time.ParseDuration(text)
		require.NoError(t, err, "READSPLIT_MUTATE")
		*mutate = d
	}
	seed := *mutateSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("go test ./internal/corpus -run TestDifferential -mutate %s -mutate-seed %s", *mutate, strconv.FormatUint(seed, 10))
	c := cluster(t)
	judged := catalogue(t, c)
	m := newMutator(t, seed, load(t))
	standby := &asker{standby: c.Replica(0)}
	defer standby.close()
	made, reads, accepted := 0, 0, 0
	origin := m.turn()
	for end := time.Now().Add(*mutate); time.Now().Before(end); {
		if made%500 == 499 {
			origin = m.turn()
			standby.close()
			standby.escapes = m.pick(2) == 0
		}
		sql := m.next()
		made++
		if judged(sql).Class != sqlclass.Read || asksForTime(sql) {
			continue
		}
		reads++
		r := standby.ask(t, statement{origin: origin, sql: sql})
		if r.state == "" {
			accepted++
		}
		if r.refused() && !refusedForAnotherReason(t, standby, sql) || r.changed != "" {
			assert.Failf(t, "no read on a standby", "%s: %q %s\n%s", origin, r.state, r.changed, sql)
		}
	}
	t.Logf("made %d, classed as reads %d, accepted %d", made, reads, accepted)
	assert.Positive(t, accepted)
}

// asksForTime reports texts that would only cost time: series and repetitions.
func asksForTime(sql string) bool {
	return len(sql) > 4000 || strings.Contains(sql, "generate_series") && strings.Contains(sql, "repeat")
}
