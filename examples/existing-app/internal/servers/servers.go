// Package servers starts the servers of a test run: a primary, and two replicas that are
// behind it. The application that used plain GORM knows nothing of the replicas.
package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/readsplit/readsplit/testenv"
)

// Behind is how far the replicas are behind: far enough that whatever is read there right
// after a write is missing.
const Behind = 200 * time.Millisecond

// Main is the TestMain of a package: its tests find the servers in the environment, and end
// comes after the last of them.
func Main(m *testing.M, end func() error) {
	os.Exit(run(m, end))
}

func run(m *testing.M, end func() error) (code int) {
	cluster, err := Start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := errors.Join(end(), cluster.Close(context.Background())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	return m.Run()
}

// Start starts them, and says where they are in DESK_DATABASE and DESK_REPLICAS.
func Start(ctx context.Context) (*testenv.Cluster, error) {
	cluster, err := testenv.New(ctx, testenv.Config{})
	if err != nil {
		return nil, err
	}
	var replicas []string
	for _, r := range cluster.Replicas() {
		if _, err := r.Delay(ctx, Behind); err != nil {
			return nil, err
		}
		replicas = append(replicas, r.URL())
	}
	for name, value := range map[string]string{"DESK_DATABASE": cluster.Primary().URL(), "DESK_REPLICAS": strings.Join(replicas, " ")} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	return cluster, nil
}
