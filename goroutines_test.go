package readsplit_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
)

// ownGoroutines counts those that packages of this module have started, and its tests
// have not.
func ownGoroutines() (n int) {
	buf := make([]byte, 8<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for _, g := range strings.Split(string(buf), "\n\n") {
		_, by, ok := strings.Cut(g, "created by github.com/readsplit/readsplit")
		if ok && !strings.HasPrefix(by, "_test.") && !strings.HasPrefix(by, "/testenv") && !strings.Contains(by, "_test.go:") {
			n++
		}
	}
	return n
}

// A plugin has a goroutine for each server, and one that watches the catalogue, however
// many clients read and write.
func TestGoroutinesDoNotGrowWithLoad(t *testing.T) {
	x := newTrap(t)
	require.NoError(t, x.First(&book{}).Error)
	const servers, clients = 3, 48
	before := ownGoroutines()

	started, end := make(chan struct{}), make(chan struct{})
	var all, first sync.WaitGroup
	first.Add(clients)
	for range clients {
		all.Go(func() {
			db := x.WithContext(readsplit.WithSession(context.Background(), readsplit.NewSession()))
			<-started
			for n := 0; ; n++ {
				assert.NoError(t, db.Table("books_t").Create(&book{Title: "x"}).Error)
				var b book
				assert.NoError(t, db.First(&b).Error)
				if n == 0 {
					first.Done()
				}
				select {
				case <-end:
					return
				default:
				}
			}
		})
	}
	close(started)
	most := 0
	for range 10 {
		most = max(most, ownGoroutines())
	}
	first.Wait()
	for range 10 {
		most = max(most, ownGoroutines())
	}
	close(end)
	all.Wait()
	// One more for each server may be closing or opening a connection.
	require.LessOrEqual(t, most, before+servers)
	require.LessOrEqual(t, before, 2*servers+2, "a goroutine for each server, of which the primary also has captures, and the catalogue's")
}
