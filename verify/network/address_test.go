package network_test

import (
	"bufio"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/verify/network"
)

// echo is a server that answers each line with its name and the line, and tells
// what it has heard.
func echo(t *testing.T, name string) (addr string, heard chan string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	heard = make(chan string, 16)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for in := bufio.NewScanner(conn); in.Scan(); {
					heard <- in.Text()
					_, _ = io.WriteString(conn, name+" "+in.Text()+"\n")
				}
			}()
		}
	}()
	return l.Addr().String(), heard
}

func dial(t *testing.T, a *network.Address) (net.Conn, func(line string) (string, error)) {
	t.Helper()
	conn, err := net.Dial("tcp4", "127.0.0.1:"+strconv.Itoa(a.Port()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	in := bufio.NewReader(conn)
	return conn, func(line string) (string, error) {
		if _, err := io.WriteString(conn, line+"\n"); err != nil {
			return "", err
		}
		return in.ReadString('\n')
	}
}

func listen(t *testing.T, target string) *network.Address {
	t.Helper()
	a, err := network.Listen(target)
	require.NoError(t, err)
	t.Cleanup(a.Close)
	return a
}

func TestLeadsToAnotherServer(t *testing.T) {
	one, _ := echo(t, "one")
	two, _ := echo(t, "two")
	a := listen(t, one)
	_, ask := dial(t, a)
	answer, err := ask("hi")
	require.NoError(t, err)
	assert.Equal(t, "one hi\n", answer)
	a.MoveTo(two)
	_, err = ask("hi")
	require.Error(t, err)
	_, ask = dial(t, a)
	answer, err = ask("hi")
	require.NoError(t, err)
	assert.Equal(t, "two hi\n", answer)
}

// The server has heard what was said, and the client cannot know.
func TestLosesAnswers(t *testing.T) {
	one, heard := echo(t, "one")
	a := listen(t, one)
	_, ask := dial(t, a)
	_, err := ask("a")
	require.NoError(t, err)
	<-heard
	require.Equal(t, 1, a.LoseAnswers(rand.New(rand.NewPCG(1, 1)), 1))
	_, err = ask("b")
	require.Error(t, err)
	assert.Equal(t, "b", <-heard)
	_, ask = dial(t, a)
	answer, err := ask("c")
	require.NoError(t, err)
	assert.Equal(t, "one c\n", answer)
}

func TestTakesTime(t *testing.T) {
	one, _ := echo(t, "one")
	a := listen(t, one)
	_, ask := dial(t, a)
	a.Delay(20 * time.Millisecond)
	began := time.Now()
	_, err := ask("a")
	require.NoError(t, err)
	assert.GreaterOrEqual(t, time.Since(began), 40*time.Millisecond)
}

func TestClosesWhatIsOpen(t *testing.T) {
	one, _ := echo(t, "one")
	a, err := network.Listen(one)
	require.NoError(t, err)
	_, ask := dial(t, a)
	_, err = ask("a")
	require.NoError(t, err)
	a.Close()
	_, err = ask("b")
	require.Error(t, err)
}

func TestHoldsNewConnections(t *testing.T) {
	one, heard := echo(t, "one")
	a := listen(t, one)
	_, old := dial(t, a)
	_, err := old("a")
	require.NoError(t, err)
	require.Equal(t, "a", <-heard)
	release := a.Hold()
	conn, ask := dial(t, a)
	_, err = io.WriteString(conn, "b\n")
	require.NoError(t, err)
	_, err = old("c")
	require.NoError(t, err)
	require.Equal(t, "c", <-heard, "what is open goes on, and b waits")
	release()
	require.Equal(t, "b", <-heard)
	_, err = ask("d")
	require.NoError(t, err)
}
