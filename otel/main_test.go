package otel

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv"
)

// shared is the cluster of all tests, started by the first that needs it.
var shared struct {
	start   sync.Once
	cluster *testenv.Cluster
	err     error
}

func cluster(t testing.TB) *testenv.Cluster {
	t.Helper()
	shared.start.Do(func() { shared.cluster, shared.err = testenv.New(context.Background(), testenv.Config{}) })
	require.NoError(t, shared.err)
	t.Cleanup(func() { require.NoError(t, shared.cluster.UndoAll()) })
	return shared.cluster
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.cluster != nil {
		if err := shared.cluster.Close(context.Background()); err != nil {
			fmt.Println(err)
			code = 1
		}
	}
	os.Exit(code)
}
