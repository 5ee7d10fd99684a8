package testenv

import (
	"bytes"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// through is a relay with one connection through it: what the replica and the upstream hold.
func through(t *testing.T) (r *relay, replica, upstream net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	r, err = newRelay(l.Addr().String)
	require.NoError(t, err)
	t.Cleanup(r.close)
	replica = dial(t, r)
	upstream, err = l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = upstream.Close() })
	return r, replica, upstream
}

func dial(t *testing.T, r *relay) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp4", r.listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestRelayCarriesBothWaysToTheEnd(t *testing.T) {
	_, replica, upstream := through(t)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() {
		_, _ = upstream.Write(sent)
		_ = upstream.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(replica)
	require.NoError(t, err)
	require.True(t, bytes.Equal(sent, got), "all of it, in order, and then the end")
	_, err = replica.Write([]byte("thanks"))
	require.NoError(t, err)
	answer := make([]byte, 6)
	_, err = io.ReadFull(upstream, answer)
	require.NoError(t, err)
	assert.Equal(t, "thanks", string(answer), "the other direction is still open")
}

func TestRelayDelays(t *testing.T) {
	r, replica, upstream := through(t)
	one := make([]byte, 1)
	const d = 150 * time.Millisecond
	r.set(r.target, false, d)
	at := time.Now()
	_, err := upstream.Write([]byte("a"))
	require.NoError(t, err)
	_, err = io.ReadFull(replica, one)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, time.Since(at), d)

	r.set(r.target, false, time.Hour)
	_, err = upstream.Write([]byte("b"))
	require.NoError(t, err)
	r.set(r.target, false, 0)
	_, err = io.ReadFull(replica, one)
	require.NoError(t, err, "what was under way arrives when the delay ends")
	assert.Equal(t, "b", string(one))
}

func TestRelayCut(t *testing.T) {
	r, replica, upstream := through(t)
	r.set(r.target, false, time.Hour)
	_, err := upstream.Write([]byte("lost"))
	require.NoError(t, err)
	require.NoError(t, replica.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = replica.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, replica.SetReadDeadline(time.Now().Add(20*time.Second)))
	r.set(r.target, true, 0)
	got, _ := io.ReadAll(replica)
	assert.Empty(t, got, "what was under way is lost")
	_, err = upstream.Read(make([]byte, 1))
	require.Error(t, err)
	got, _ = io.ReadAll(dial(t, r))
	assert.Empty(t, got, "a new connection ends at once")
}

func TestRelayChangesItsUpstream(t *testing.T) {
	r, replica, _ := through(t)
	other, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer other.Close()
	r.set(other.Addr().String, false, 0)
	_, err = replica.Read(make([]byte, 1))
	require.Error(t, err, "the connection to the former one has ended")
	again := dial(t, r)
	upstream, err := other.Accept()
	require.NoError(t, err)
	_, err = upstream.Write([]byte("x"))
	require.NoError(t, err)
	_, err = io.ReadFull(again, make([]byte, 1))
	require.NoError(t, err)
	require.NoError(t, upstream.Close())
}
