package discover

import (
	"net"
	"slices"
	"strconv"
	"strings"
)

// Server is one server that a source has found.
type Server struct {
	// Name is how the server appears in logs and metrics. It must mean the same
	// server tomorrow. Defaults to its address, or else its host, and the port.
	Name string
	// Host is the name of the server, or its address: what a DSN calls host. A
	// certificate is checked against it. Without one Address is taken.
	Host string
	// Address is dialled instead of Host, where Host is the name of several servers:
	// an IP address. Empty: Host is looked up whenever a connection is opened.
	Address string
	// Port is where the server listens; 0: the source does not know it.
	Port int
	// Weight, Zone and Groups are as in readsplit.Replica; zero: as in the template.
	Weight int
	Zone   string
	Groups []string
}

// Endpoint is where the server is dialled: its address, or else its host, and the
// port. Two servers with one endpoint are one server.
func (s Server) Endpoint() string {
	host := s.Address
	if host == "" {
		host = s.Host
	}
	if strings.HasPrefix(host, "/") {
		return host + ":" + strconv.Itoa(s.Port) // the folder of a Unix socket
	}
	return net.JoinHostPort(host, strconv.Itoa(s.Port))
}

// tidy returns s as it is compared: "PG1.example." and "pg1.example" are one host.
func (s Server) tidy() Server {
	name := func(host string) string {
		if strings.HasPrefix(host, "/") {
			return host
		}
		return strings.TrimSuffix(strings.ToLower(strings.TrimSpace(host)), ".")
	}
	s.Host, s.Address = name(s.Host), name(s.Address)
	if s.Host == "" {
		s.Host, s.Address = s.Address, ""
	}
	if s.Address == s.Host {
		s.Address = ""
	}
	s.Groups = slices.Clone(s.Groups)
	return s
}

// likeBut reports whether nothing but the weights of two servers may differ.
func (s Server) likeBut(t Server) bool {
	return s.Name == t.Name && s.Host == t.Host && s.Endpoint() == t.Endpoint() && s.Zone == t.Zone && slices.Equal(s.Groups, t.Groups)
}

// tidied returns the servers of an answer: each endpoint once, each with a name that
// no other has.
func tidied(answer []Server, port int) []Server {
	servers := make([]Server, 0, len(answer))
	endpoints, names := make(map[string]bool), make(map[string]int)
	for _, s := range answer {
		s = s.tidy()
		if s.Port == 0 {
			s.Port = port
		}
		if s.Host == "" || endpoints[s.Endpoint()] {
			continue
		}
		endpoints[s.Endpoint()] = true
		servers = append(servers, s)
	}
	for _, s := range servers {
		names[s.Name]++
	}
	for i := range servers {
		// A name that several have is nobody's: whose it is would depend on the order of
		// the answer, and that changes.
		if s := &servers[i]; s.Name == "" || names[s.Name] > 1 || s.Name != s.Endpoint() && endpoints[s.Name] {
			s.Name = s.Endpoint()
		}
	}
	return servers
}
