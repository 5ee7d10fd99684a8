package tdsenv

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"net"
	"strconv"
)

// Ports are chosen below what Linux (32768) and macOS (49152) hand out to outgoing connections: a
// server that was killed must get its own back.
const (
	lowestPort  = 10_240
	highestPort = 32_700
)

// listenBelow listens on a random port of 127.0.0.1.
func listenBelow() (net.Listener, int, error) {
	for range 100 {
		n, err := rand.Int(rand.Reader, big.NewInt(highestPort-lowestPort))
		if err != nil {
			return nil, 0, fmt.Errorf("choose a port: %w", err)
		}
		port := lowestPort + int(n.Int64())
		if l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return l, port, nil
		}
	}
	return nil, 0, fmt.Errorf("no free port of 127.0.0.1 between %d and %d in 100 tries", lowestPort, highestPort)
}
