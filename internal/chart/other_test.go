package chart_test

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/internal/chart"
)

func TestOther(t *testing.T) {
	for want, runs := range map[bool][][]string{
		false: {{}, {"-page", "p.md", "-readme", "r.md", "-pg", "15"}, {"-part", "decide"}, {"-for", "10s"}},
		true:  {{"-for", "1s"}, {"-pg", "18"}, {"-page", "p.md", "-only", "plain"}},
	} {
		for _, args := range runs {
			flags := flag.NewFlagSet("", flag.ContinueOnError)
			for _, name := range []string{"page", "readme", "pg", "part", "only"} {
				flags.String(name, "", "")
			}
			flags.Duration("for", 10*time.Second, "")
			require.NoError(t, flags.Parse(args))
			assert.Equal(t, want, chart.Other(flags), args)
		}
	}
}
