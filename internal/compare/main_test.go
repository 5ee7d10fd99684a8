// Package compare runs small programs of GORM usage twice, on plain GORM over one
// PostgreSQL server and on GORM with readsplit over the same primary and two
// replicas, and compares everything that the programs can see: what was returned,
// errors, what was logged, which hooks and callbacks ran and how often, panics,
// and what the tables hold in the end.
//
// An application that is moved to readsplit must not notice. A difference that is
// wanted has its reason in the list of wanted_test.go, and fails the test when it
// is none any more.
package compare

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/readsplit/readsplit/testenv"
)

// cluster is the primary and the two replicas that everything here runs on.
var cluster *testenv.Cluster

// result is what the last line of the run says: programs that were compared in
// every mode, and of these those with a difference that nobody wants.
var result struct {
	programs, wanted, runs, differences atomic.Int64
	replicaReads, primaryReads          atomic.Uint64
}

func TestMain(m *testing.M) { os.Exit(serve(m)) }

func serve(m *testing.M) (code int) {
	ctx := context.Background()
	var err error
	cluster, err = testenv.New(ctx, testenv.Config{Settings: map[string]string{
		// A statement whose client is gone would go on, and hold its locks.
		"client_connection_check_interval": "10ms",
		// When it runs is chance, and so would be the plans of two runs.
		"autovacuum": "off",
	}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() {
		if code != 0 {
			if dir, err := os.MkdirTemp("", "readsplit-logs-"); err == nil {
				saved, _ := cluster.SaveLogs(dir)
				fmt.Println("logs kept:", strings.Join(saved, " "))
			}
		}
		if err := cluster.Close(ctx); err != nil {
			fmt.Println(err)
			code = 1
		}
		if result.programs.Load() > 0 {
			fmt.Printf("compare: %d runs in %d modes, %d reads on replicas and %d on the primary, %d wanted differences\n",
				result.runs.Load(), len(modes), result.replicaReads.Load(), result.primaryReads.Load(), result.wanted.Load())
			fmt.Printf("compare: programs=%d differences=%d\n", result.programs.Load(), result.differences.Load())
		}
	}()
	return m.Run()
}
