// Package dnsdouble is a DNS server for tests: it answers A, AAAA and SRV questions over
// UDP on 127.0.0.1, with what it was told last, or not at all.
package dnsdouble

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
)

// SRV is one SRV record.
type SRV struct {
	Target                 string
	Port, Priority, Weight uint16
}

// Server answers questions. It starts one goroutine, which Close joins.
type Server struct {
	conn net.PacketConn
	done sync.WaitGroup

	mu        sync.Mutex
	addresses map[string][]netip.Addr
	services  map[string][]SRV
	refuses   bool
	silent    bool
	asked     int
}

// New starts a server that knows no name.
func New() (*Server, error) {
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{conn: conn, addresses: map[string][]netip.Addr{}, services: map[string][]SRV{}}
	s.done.Go(s.serve)
	return s, nil
}

// Close ends the server.
func (s *Server) Close() error {
	err := s.conn.Close()
	s.done.Wait()
	return err
}

// Resolver asks this server and no other.
func (s *Server) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp4", s.conn.LocalAddr().String())
	}}
}

// Addresses says which addresses a name has from now on; none: it does not exist.
func (s *Server) Addresses(name string, addresses ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]netip.Addr, len(addresses))
	for i, a := range addresses {
		all[i] = netip.MustParseAddr(a)
	}
	s.addresses[full(name)] = all
}

// Services says which SRV records a name has from now on; none: it does not exist.
func (s *Server) Services(name string, records ...SRV) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.services[full(name)] = records
}

// Refuse answers each question with an error of the server from now on, or no more.
func (s *Server) Refuse(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = on
}

// Silence answers nothing from now on, or does again.
func (s *Server) Silence(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = on
}

// Asked is how many questions have come.
func (s *Server) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func full(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) + "." }

func (s *Server) serve() {
	packet := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(packet)
		if err != nil {
			return
		}
		if answer := s.answer(packet[:n]); answer != nil {
			_, _ = s.conn.WriteTo(answer, from) // who has left asks no more
		}
	}
}

// Types and codes of RFC 1035, 2782 and 3596.
const (
	typeA, typeAAAA, typeSRV = 1, 28, 33
	serverFailure            = 2
	noSuchName               = 3
)

// answer returns the answer to a packet with one question, nil for none.
func (s *Server) answer(question []byte) []byte {
	if len(question) < 12 {
		return nil
	}
	var labels []string
	at := 12
	for at < len(question) && question[at] != 0 {
		end := at + 1 + int(question[at])
		if end >= len(question) {
			return nil
		}
		labels = append(labels, string(question[at+1:end]))
		at = end
	}
	if at += 5; at > len(question) {
		return nil
	}
	kind := binary.BigEndian.Uint16(question[at-4:])
	name := full(strings.Join(labels, "."))

	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.silent {
		return nil
	}
	var records [][]byte
	switch kind {
	case typeA, typeAAAA:
		for _, a := range s.addresses[name] {
			if a.Is4() == (kind == typeA) {
				records = append(records, a.AsSlice())
			}
		}
	case typeSRV:
		for _, r := range s.services[name] {
			data := binary.BigEndian.AppendUint16(nil, r.Priority)
			data = binary.BigEndian.AppendUint16(data, r.Weight)
			data = binary.BigEndian.AppendUint16(data, r.Port)
			records = append(records, append(data, encoded(r.Target)...))
		}
	}
	code := uint16(0)
	switch {
	case s.refuses:
		code, records = serverFailure, nil
	case len(s.addresses[name]) == 0 && len(s.services[name]) == 0:
		code = noSuchName
	}
	out := append([]byte(nil), question[:2]...)
	out = binary.BigEndian.AppendUint16(out, 0x8180|code) // a recursive answer
	out = binary.BigEndian.AppendUint16(out, 1)
	out = binary.BigEndian.AppendUint16(out, uint16(len(records)))
	out = binary.BigEndian.AppendUint32(out, 0)
	out = append(out, question[12:at]...)
	for _, data := range records {
		out = append(out, 0xc0, 12) // the name of the question
		out = binary.BigEndian.AppendUint16(out, kind)
		out = binary.BigEndian.AppendUint16(out, 1)
		out = binary.BigEndian.AppendUint32(out, 1) // seconds that it may be kept
		out = binary.BigEndian.AppendUint16(out, uint16(len(data)))
		out = append(out, data...)
	}
	return out
}

func encoded(name string) (out []byte) {
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label != "" {
			out = append(append(out, byte(len(label))), label...)
		}
	}
	return append(out, 0)
}
