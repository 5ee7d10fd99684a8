package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// More replicas serve more reads.
func TestThroughputGrows(t *testing.T) {
	table, c, err := throughput(options{version: os.Getenv("READSPLIT_PG"), length: time.Second})
	require.NoError(t, err)
	require.Equal(t, 6, strings.Count(table, "\n"), "a head and a line for 0, 1, 2 and 4 replicas")
	measured := c.Lines[0].Y
	require.Greater(t, measured[3], measured[1], "four replicas and one")
}
