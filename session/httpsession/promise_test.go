package httpsession_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A user writes on one process and is sent to another one, which is asked at once,
// while no replica has the write: they see it. Whatever way the application has taken
// the order and answered.
func TestUsersSeeTheirOrdersOnAnotherProcess(t *testing.T) {
	c, dsns := database(t)
	processes := []string{started(t, dsns), started(t, dsns)}
	stranger := newUser(t)
	for _, p := range processes {
		eventually(t, "replicas serve "+p, func() bool {
			_, body, _ := stranger.ask("GET", p+"/orders/nobody")
			return strings.HasPrefix(body, "0 replica")
		})
	}
	undo := still(t, c)
	const rounds = 5
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			method, path, _ := strings.Cut(kind, " ")
			who := strings.Trim(path, "/")
			u := newUser(t)
			for n := 1; n <= rounds; n++ {
				here, there := processes[n%2], processes[(n+1)%2]
				status, body, _ := u.ask(method, here+path+"/"+who)
				if path == "/recovered" {
					require.Equal(t, "after the write\n", body)
				} else {
					require.Less(t, status, 400, body)
				}
				for range 2 {
					_, body, _ = u.ask("GET", there+"/orders/"+who)
					require.Equal(t, fmt.Sprint(n, " primary"), body)
				}
			}
			if path == "/lost" {
				return // nobody knows whose that was: it binds everybody
			}
			_, body, _ := stranger.ask("GET", processes[0]+"/orders/"+who)
			require.Regexp(t, "^0 replica", body, "who wrote nothing reads from a replica, which has nothing of it")
		})
	}
	undo()
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	u := newUser(t)
	_, _, to := u.ask("POST", processes[0]+"/redirect/last")
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	eventually(t, "the cookie lets replicas serve", func() bool {
		_, body, _ := u.ask("GET", processes[1]+to)
		require.True(t, strings.HasPrefix(body, "1 "), body)
		return strings.HasPrefix(body, "1 replica")
	})
}

// One user with many requests at once on both processes, writing and reading, while
// replicas stand still: each request sees what was acknowledged before it was sent.
func TestParallelRequestsOfOneUser(t *testing.T) {
	c, dsns := database(t)
	processes := []string{started(t, dsns), started(t, dsns)}
	defer still(t, c)()
	u := newUser(t)
	total := 0
	for round := range 5 {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				u.ask("POST", processes[i%2]+"/redirect/crowd")
			})
		}
		all.Wait()
		total += 8
		for i := range 4 {
			all.Go(func() {
				_, body, _ := u.ask("GET", processes[i%2]+"/orders/crowd")
				assert.Equal(t, fmt.Sprint(total, " primary"), body, "round %d", round)
			})
		}
		all.Wait()
	}
}
