package tdsenv

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tds"
)

// parseRoutingList reads the value of READ_ONLY_ROUTING_LIST: names in the order in which they are
// tried, where a list within the list is one place whose members take turns.
func parseRoutingList(text string) ([][]string, error) {
	var groups [][]string
	rest := strings.TrimSpace(text)
	next := func(s string) bool {
		found := strings.HasPrefix(rest, s)
		if found {
			rest = strings.TrimSpace(rest[len(s):])
		}
		return found
	}
	name := func() (string, error) {
		next("N")
		if !next("'") {
			return "", fmt.Errorf("a name in quotes is expected at %q", rest)
		}
		name, after, closed := strings.Cut(rest, "'")
		if !closed || name == "" {
			return "", fmt.Errorf("a name is not closed at %q", rest)
		}
		rest = strings.TrimSpace(after)
		return name, nil
	}
	if !next("(") {
		return nil, errors.New("it must stand in parentheses, such as (('SQL2','SQL3'),'SQL1')")
	}
	for {
		nested := next("(")
		var group []string
		for {
			n, err := name()
			if err != nil {
				return nil, err
			}
			group = append(group, n)
			if !nested || !next(",") {
				break
			}
		}
		if nested && !next(")") {
			return nil, fmt.Errorf(") is expected at %q: lists nest once", rest)
		}
		groups = append(groups, group)
		if !next(",") {
			break
		}
	}
	if !next(")") || rest != "" {
		return nil, fmt.Errorf(") and nothing more is expected at %q", rest)
	}
	return groups, nil
}

// routingGroups is the list that counts while s is the primary.
func (s *Server) routingGroups() [][]string {
	list := s.cluster.cfg.RoutingLists[s.name]
	if list == "" {
		list = s.cluster.cfg.RoutingList
	}
	if list == NoRouting {
		return nil
	}
	if list == "" {
		var others []string
		for _, o := range s.cluster.servers {
			if o != s {
				others = append(others, o.name)
			}
		}
		if others == nil {
			return [][]string{{s.name}}
		}
		return [][]string{others, {s.name}}
	}
	groups, err := parseRoutingList(list)
	if err != nil {
		return nil // complete has checked it
	}
	return groups
}

// route says where the primary s sends a connection that came through the listener, asked for a
// database of the group and said ReadOnly; nil is here. The cluster is locked.
func (s *Server) route(db *database) (*tds.Route, *sqlval.Error) {
	groups := s.routingGroups()
	if groups == nil {
		return nil, nil
	}
	for i, group := range groups {
		var able []*Server
		for _, name := range group {
			if o := s.cluster.server(name); o.routable(db) {
				able = append(able, o)
			}
		}
		if len(able) == 0 {
			continue
		}
		turn := s.turns[i]
		s.turns[i]++
		return able[turn%len(able)].routingTarget(), nil
	}
	return nil, atLogin(982, "Unable to access the '%s' database because no online secondary replicas are enabled for read-only access. Check the availability group configuration to verify that at least one secondary replica is configured for read-only access. Wait for an enabled replica to come online, and retry your read-only operation.", db.name)
}

// routable says whether a list's entry can be used: the primary always, a secondary that is
// connected, receives log, and lets readers in. A frozen one still counts as connected.
func (s *Server) routable(db *database) bool {
	if s.down || s.routingTarget() == nil {
		return false
	}
	if s == s.cluster.primary {
		return true
	}
	return s.access() != AllowNone && !s.under(cut) && !s.replica(db).isSuspended()
}

// routingTarget is READ_ONLY_ROUTING_URL.
func (s *Server) routingTarget() *tds.Route {
	url := s.routingURL()
	host, text, err := net.SplitHostPort(strings.TrimPrefix(url, "tcp://"))
	if err != nil {
		return nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil
	}
	return &tds.Route{Host: host, Port: uint16(port)}
}

func (s *Server) routingURL() string {
	for _, f := range slices.Backward(s.faults) {
		if f.kind == routed {
			return f.url
		}
	}
	return s.URL()
}

// atLogin is an error of severity 14, as those of a login are.
func atLogin(number int32, format string, a ...any) *sqlval.Error {
	e := sqlval.Errorf(number, format, a...)
	e.Class = 14
	return e
}
