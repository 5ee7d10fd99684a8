package readsplit_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/discover"
	"github.com/readsplit/readsplit/internal/dnsdouble"
	"github.com/readsplit/readsplit/testenv"
)

// front is a server's door with a certificate: it takes TLS, and speaks to the server
// behind it without.
type front struct {
	listener net.Listener
	behind   string
	cert     tls.Certificate
	done     sync.WaitGroup

	mu    sync.Mutex
	names map[string]bool // that clients have asked for
	conns map[net.Conn]struct{}
}

func (f *front) accept() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.done.Go(func() { f.serve(conn) })
	}
}

// keep notes a connection, so that close can end it.
func (f *front) keep(c net.Conn) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conns[c] = struct{}{}
	return func() {
		f.mu.Lock()
		delete(f.conns, c)
		f.mu.Unlock()
		_ = c.Close()
	}
}

func (f *front) serve(conn net.Conn) {
	defer f.keep(conn)()
	var request [8]byte
	if _, err := io.ReadFull(conn, request[:]); err != nil || binary.BigEndian.Uint32(request[4:]) != 80877103 {
		return // no SSLRequest: nothing is spoken without TLS here
	}
	if _, err := conn.Write([]byte("S")); err != nil {
		return
	}
	secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{f.cert}, MinVersion: tls.VersionTLS12})
	if err := secure.Handshake(); err != nil {
		return
	}
	f.mu.Lock()
	f.names[secure.ConnectionState().ServerName] = true
	f.mu.Unlock()
	server, err := net.Dial("tcp", f.behind)
	if err != nil {
		return
	}
	defer f.keep(server)()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(secure, server)
		_ = conn.Close()
	})
	_, _ = io.Copy(server, secure)
	_ = server.Close()
	back.Wait()
}

func (f *front) close() {
	_ = f.listener.Close()
	f.mu.Lock()
	for c := range f.conns {
		_ = c.Close()
	}
	f.mu.Unlock()
	f.done.Wait()
}

// fronts puts each server behind an address of its own, and all of them behind one port,
// as the addresses of one DNS name have it.
func fronts(t *testing.T, cert tls.Certificate, servers ...*testenv.Server) (all []*front, port int) {
	t.Helper()
	for range 100 {
		all, port = nil, 0
		for i, s := range servers {
			l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.%d:%d", i+2, port))
			if err != nil {
				break // somebody has that port there
			}
			port = l.Addr().(*net.TCPAddr).Port
			all = append(all, &front{listener: l, behind: s.Addr(), cert: cert, names: map[string]bool{}, conns: map[net.Conn]struct{}{}})
		}
		if len(all) == len(servers) {
			break
		}
		for _, f := range all {
			_ = f.listener.Close()
		}
	}
	require.Len(t, all, len(servers))
	for _, f := range all {
		f.done.Go(f.accept)
		t.Cleanup(f.close)
	}
	return all, port
}

// certified makes a certificate for a name, and the file that proves it.
func certified(t *testing.T, name string) (cert tls.Certificate, roots string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	roots = filepath.Join(t.TempDir(), "root.pem")
	require.NoError(t, os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// Each address of a name is a replica. The address is dialled, and the certificate is
// that of the name: verify-full holds, and fails where the name is another.
func TestDiscoverByDNSWithCertificates(t *testing.T) {
	c := cluster(t)
	cert, roots := certified(t, "pg.example")
	doors, port := fronts(t, cert, c.Replica(0), c.Replica(1))
	ns, err := dnsdouble.New()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ns.Close()) })
	addresses := []string{fmt.Sprintf("127.0.0.2:%d", port), fmt.Sprintf("127.0.0.3:%d", port)}
	found := func(name string) dbOption {
		ns.Addresses(name, "127.0.0.2", "127.0.0.3")
		return func(o *dbOptions) {
			discovering(discover.DNS(name, discover.DNSOptions{Resolver: ns.Resolver()}))(o)
			dsn := c.Primary().DSNFor(o.database)
			o.config.Discovered = readsplit.Replica{
				// Later keys count: what stands before them is the primary's.
				Dialector: postgres.Open(dsn + fmt.Sprintf(" host=nowhere,either port=%d target_session_attrs=read-write sslmode=verify-full sslrootcert=%s", port, roots)),
				Zone:      "z", Groups: []string{"found"},
			}
		}
	}
	d := newDB(t, c, found("pg.example"))
	assert.Equal(t, addresses, d.inUse())
	d.eligible(t, "replica1", "replica2")
	assert.Equal(t, map[string]int{"replica1": 1, "replica2": 1}, func() map[string]int {
		by := map[string]int{}
		for name := range servers(t, d, readsplit.Group(t.Context(), "found"), 40) {
			by[name] = 1
		}
		return by
	}())
	for _, f := range doors {
		f.mu.Lock()
		assert.Equal(t, map[string]bool{"pg.example": true}, f.names)
		f.mu.Unlock()
	}

	// The driver still reports the replica's own failure, and reads go on.
	other := newDB(t, c, found("other.example"))
	for _, r := range other.plugin.Status().Replicas {
		assert.False(t, r.Up, r.Name)
	}
	assert.Equal(t, "primary", served(t, other.DB))
	eventually(t, "the reason to be told", func() bool {
		return len(other.log.matching("is down", "certificate is valid for pg.example, not other.example")) > 0
	})

	ns.Addresses("pg.example", "127.0.0.3")
	eventually(t, "the address to be gone", func() bool { return slices.Equal(d.inUse(), addresses[1:]) })
}
