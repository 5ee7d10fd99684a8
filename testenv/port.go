package testenv

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strconv"
)

// Ports are chosen below what Linux (32768) and macOS (49152) hand out to outgoing connections:
// a stopped server must get its own port back, and the kernel could have lent one of those away.
const (
	lowestPort  = 10_240
	highestPort = 32_700
)

var errPortTaken = errors.New("the port is taken")

// freePort returns a random port of 127.0.0.1 that nobody listens on at this moment. Somebody
// may take it before it is used: who binds it must be ready to ask for another.
func freePort() (int, error) {
	for range 100 {
		n, err := rand.Int(rand.Reader, big.NewInt(highestPort-lowestPort))
		if err != nil {
			return 0, fmt.Errorf("choose a port: %w", err)
		}
		port := lowestPort + int(n.Int64())
		if portFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port of 127.0.0.1 between %d and %d in 100 tries", lowestPort, highestPort)
}

func portFree(port int) bool {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
