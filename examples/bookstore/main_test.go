package main

import (
	"bytes"
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestArguments(t *testing.T) {
	full := options{orders: 1000, faultOrders: 300, stock: 200_000, pause: healthyPause, seed: 1}
	short := options{orders: 300, faultOrders: 240, stock: 40_000, seed: 7, version: "18", only: "healthy", verbose: true}
	for name, c := range map[string]struct {
		args []string
		want options
	}{
		"none": {nil, full},
		"all":  {[]string{"-short", "-rate", "0", "-seed", "7", "-pg", "18", "-only", "healthy", "-v"}, short},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse(c.args, new(bytes.Buffer))
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{{"healthy"}, {"-only", "health"}, {"-seed", "-1"}, {"-rate", "-1"}} {
		var out bytes.Buffer
		_, err := parse(args, &out)
		require.Error(t, err)
		assert.NotEmpty(t, out.String(), "%v: it says what is wrong", args)
	}
	_, err := parse([]string{"-help"}, new(bytes.Buffer))
	assert.ErrorIs(t, err, flag.ErrHelp)
}

func TestEveryPhaseHasATitleAndCanBeAskedFor(t *testing.T) {
	for _, p := range new(lab).phases() {
		_, err := parse([]string{"-only", p.name}, new(bytes.Buffer))
		assert.NoError(t, err, p.name)
	}
}
