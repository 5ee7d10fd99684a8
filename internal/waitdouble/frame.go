package waitdouble

import (
	"encoding/binary"
	"errors"
	"io"
)

// frame is one message as it is on the wire: its type, its length, its body.
type frame []byte

func (f frame) kind() byte   { return f[0] }
func (f frame) body() []byte { return f[5:] }

const (
	mostFrame     = 64 << 20
	cancelRequest = 80877102
	sslRequest    = 80877103
	gssRequest    = 80877104
)

var errFrame = errors.New("waitdouble: not a message of PostgreSQL's protocol")

func readFrame(r io.Reader) (frame, error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n < 4 || n > mostFrame {
		return nil, errFrame
	}
	f := make(frame, 1+n)
	copy(f, head)
	_, err := io.ReadFull(r, f[5:])
	return f, err
}

// readStartup reads a first message, which has no type; code tells what it is.
func readStartup(r io.Reader) (message []byte, code uint32, err error) {
	head := make([]byte, 8)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, 0, err
	}
	n := binary.BigEndian.Uint32(head)
	if n < 8 || n > 10_000 {
		return nil, 0, errFrame
	}
	message = make([]byte, n)
	copy(message, head)
	_, err = io.ReadFull(r, message[8:])
	return message, binary.BigEndian.Uint32(head[4:]), err
}
