package testenv

import (
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// occupy listens on a port until release is called.
func occupy(t *testing.T, port int) (release func()) {
	t.Helper()
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	require.NoError(t, err)
	return func() { assert.NoError(t, l.Close()) }
}

func TestFreePort(t *testing.T) {
	port, err := freePort()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, port, lowestPort)
	assert.Less(t, port, highestPort)
	assert.True(t, portFree(port))
	release := occupy(t, port)
	assert.False(t, portFree(port))
	release()
}

// Somebody takes the port between choice and bind: another one is chosen.
func TestStartChoosesAnotherPort(t *testing.T) {
	taken, err := freePort()
	require.NoError(t, err)
	release := occupy(t, taken)
	defer release()
	var chosen []int
	cfg := Config{Replicas: -1, choosePort: func() (int, error) {
		port := taken
		if len(chosen) > 0 {
			if port, err = freePort(); err != nil {
				return 0, err
			}
		}
		chosen = append(chosen, port)
		return port, nil
	}}
	c, err := New(limit(t), cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(limit(t))) }()
	require.Len(t, chosen, 2)
	assert.Equal(t, taken, chosen[0])
	assert.Equal(t, chosen[1], c.Primary().Port())
	assert.Equal(t, chosen[1], one[int](t, c.Primary(), "SELECT inet_server_port()"))
}
