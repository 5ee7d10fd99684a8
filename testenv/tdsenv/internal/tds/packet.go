// Package tds speaks the server's side of TDS 7.4, as MS-TDS describes it: packets, the login,
// requests, and the tokens of answers. It knows types and values, and no SQL.
package tds

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// Kind is the type of a message.
type Kind byte

// The messages.
const (
	Batch       Kind = 1
	RPC         Kind = 3
	Reply       Kind = 4
	Attention   Kind = 6
	BulkLoad    Kind = 7
	Transaction Kind = 14
	Login       Kind = 16
	Prelogin    Kind = 18
)

const (
	headerSize        = 8
	statusEnd         = 0x01
	statusReset       = 0x08
	statusResetKeep   = 0x10
	minPacket         = 512
	maxPacket         = 32767
	defaultPacketSize = 4096

	// maxMessage bounds what a client can make the server keep.
	maxMessage = 64 << 20
)

// Message is what a client has sent.
type Message struct {
	Kind    Kind
	Reset   bool // the client took the connection from its pool
	Payload []byte
}

// Conn is a connection of a client. One goroutine may read while another writes.
type Conn struct {
	net.Conn
	r    *bufio.Reader
	size int
	spid uint16
	seq  byte
	kind Kind
	buf  []byte
}

// NewConn wraps an accepted connection.
func NewConn(c net.Conn, spid uint16) *Conn {
	return &Conn{Conn: c, r: bufio.NewReaderSize(c, maxPacket), size: defaultPacketSize, spid: spid}
}

// ErrMessage is wrapped by every error that says that a client's bytes are no TDS.
var ErrMessage = errors.New("malformed message")

func malformed(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrMessage, fmt.Sprintf(format, a...))
}

// Read reads a whole message, of however many packets.
func (c *Conn) Read() (Message, error) { return readMessage(c.r) }

func readMessage(r io.Reader) (Message, error) {
	var m Message
	for first := true; ; first = false {
		var h [headerSize]byte
		if _, err := io.ReadFull(r, h[:]); err != nil {
			return m, err
		}
		length := int(binary.BigEndian.Uint16(h[2:]))
		if length < headerSize {
			return m, malformed("a packet of %d bytes", length)
		}
		if first {
			m.Kind, m.Reset = Kind(h[0]), h[1]&(statusReset|statusResetKeep) != 0
		} else if m.Kind != Kind(h[0]) {
			return m, malformed("a packet of type %d in a message of type %d", h[0], m.Kind)
		}
		if len(m.Payload)+length > maxMessage {
			return m, malformed("a message of more than %d bytes", maxMessage)
		}
		at := len(m.Payload)
		m.Payload = append(m.Payload, make([]byte, length-headerSize)...)
		if _, err := io.ReadFull(r, m.Payload[at:]); err != nil {
			return m, err
		}
		if h[1]&statusEnd != 0 {
			return m, nil
		}
	}
}

// begin starts a message to the client.
func (c *Conn) begin(kind Kind) {
	c.kind, c.seq = kind, 1
	c.buf = append(c.buf[:0], make([]byte, headerSize)...)
}

// put appends to the message, and sends what fills a packet.
func (c *Conn) put(b []byte) error {
	for len(b) > 0 {
		if len(c.buf) == c.size {
			if err := c.flush(0); err != nil {
				return err
			}
		}
		n := min(len(b), c.size-len(c.buf))
		c.buf = append(c.buf, b[:n]...)
		b = b[n:]
	}
	return nil
}

func (c *Conn) end() error { return c.flush(statusEnd) }

func (c *Conn) flush(status byte) error {
	h := c.buf[:headerSize]
	h[0], h[1] = byte(c.kind), status
	binary.BigEndian.PutUint16(h[2:], uint16(len(c.buf)))
	binary.BigEndian.PutUint16(h[4:], c.spid)
	h[6], h[7] = c.seq, 0
	c.seq++
	_, err := c.Write(c.buf)
	c.buf = c.buf[:headerSize]
	return err
}
