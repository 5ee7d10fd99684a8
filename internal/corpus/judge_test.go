package corpus

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/catalog"
	"github.com/readsplit/readsplit/sqlclass"
	"github.com/readsplit/readsplit/testenv"
)

// judge is the whole answer of an application: lexer and catalogue.
type judge func(sql string) sqlclass.Info

// catalogue waits until package catalog knows the primary's functions and views.
func catalogue(t testing.TB, c *testenv.Cluster) judge {
	t.Helper()
	known, err := catalog.New(catalog.Config{DB: c.Primary().DB()})
	require.NoError(t, err)
	known.Start()
	t.Cleanup(known.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, known.Wait(ctx))
	return known.Classify
}
