//go:build realsqlserver

package given_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/internal/conformance"
	"github.com/readsplit/readsplit/testenv/tdsenv/drivertest/given"
)

// The suite on the servers that the environment names: make conformance-sqlserver.
func TestRealSQLServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	b, closeAll, err := given.New(ctx, os.Getenv)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, closeAll()) })
	conformance.Run(t, b)
}
