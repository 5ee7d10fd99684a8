package discover

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// plan decides who is added and taken out. It is pure: answers and the time go in,
// steps come out, and what became of them is told.
type plan struct {
	cfg     Config
	seed    uint64
	members map[string]*member // by endpoint
	// empties is how many of the newest answers named nobody, and emptied since when.
	empties int
	emptied time.Time
}

// member is a server that was in an answer, until it is taken out.
type member struct {
	server  Server
	wanted  Server // as the newest answer has it
	state   state
	present bool // in the newest answer
	// missing is since when it is not in the answers that name somebody, and misses how
	// many of them: what names nobody has a time of its own.
	missing time.Time
	misses  int
	// why it is not in use, and when that is tried again.
	why   error
	again time.Time
}

type state uint8

const (
	stateNew     state = iota // not in use: nobody has tried, or it was refused
	stateIn                   // in use
	stateLeaving              // being taken out
)

// steps are what has to be done.
type steps struct {
	add    []Server
	change []Server
	remove []Server
}

// againAfter is when a server that was refused is tried once more.
const againAfter = time.Minute

func newPlan(cfg Config, seed uint64) *plan {
	return &plan{cfg: cfg, seed: seed, members: make(map[string]*member)}
}

// answer takes in an answer that the source gave.
func (p *plan) answer(now time.Time, servers []Server) {
	if len(servers) > 0 {
		p.empties = 0
	} else if p.empties++; p.empties == 1 {
		p.emptied = now
	}
	seen := make(map[string]bool, len(servers))
	for _, s := range servers {
		key := s.Endpoint()
		seen[key] = true
		m := p.members[key]
		if m == nil {
			m = &member{}
			p.members[key] = m
		}
		m.wanted, m.present, m.missing, m.misses = s, true, time.Time{}, 0
	}
	for key, m := range p.members {
		m.present = seen[key]
		switch {
		case m.present:
		case m.state == stateNew:
			delete(p.members, key) // nothing is lost
		case p.empties > 0:
		case m.misses == 0:
			m.missing, m.misses = now, 1
		default:
			m.misses++
		}
	}
}

// next returns what is to be done now. Who is to be removed is leaving from here on.
func (p *plan) next(now time.Time) (s steps) {
	in, names := 0, make(map[string]bool)
	var waiting []*member
	for _, m := range p.members {
		if m.state == stateNew {
			waiting = append(waiting, m)
			continue
		}
		in++
	}
	for _, m := range p.members {
		if m.state == stateIn && (p.over(now, m) || p.replaced(m)) {
			m.state = stateLeaving
			s.remove = append(s.remove, m.server)
		}
		if m.state == stateIn && m.present && m.wanted.Weight != m.server.Weight {
			m.server.Weight = m.wanted.Weight
			s.change = append(s.change, m.server)
		}
		if m.state != stateNew {
			names[m.server.Name] = true
		}
	}
	slices.SortFunc(waiting, func(a, b *member) int {
		if x, y := p.rank(a), p.rank(b); x != y {
			if x < y {
				return -1
			}
			return 1
		}
		return strings.Compare(a.wanted.Name, b.wanted.Name)
	})
	for _, m := range waiting {
		switch {
		case names[m.wanted.Name]:
			continue // until the one that has the name now is out
		case in >= p.cfg.Most:
			m.why, m.again = fmt.Errorf("readsplit: there are %d servers in use, as many as Config.Most allows", p.cfg.Most), time.Time{}
			continue
		case now.Before(m.again):
			continue
		}
		in++
		names[m.wanted.Name] = true
		s.add = append(s.add, m.wanted)
	}
	order := func(a, b Server) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(s.add, order)
	slices.SortFunc(s.change, order)
	slices.SortFunc(s.remove, order)
	return s
}

// over reports whether m has been missing for long enough.
func (p *plan) over(now time.Time, m *member) bool {
	if p.empties > 0 {
		return p.empties >= 2 && p.cfg.EmptyGrace >= 0 && now.Sub(p.emptied) >= p.cfg.EmptyGrace
	}
	return m.misses >= 2 && now.Sub(m.missing) >= p.cfg.Grace
}

// replaced reports whether the server has become another one: it is in the answer with
// something that cannot be changed in use, or its name stands for another endpoint.
func (p *plan) replaced(m *member) bool {
	if m.present {
		return !m.wanted.likeBut(m.server)
	}
	for _, other := range p.members {
		if other != m && other.present && other.wanted.Name == m.server.Name {
			return true
		}
	}
	return false
}

// rank orders servers by chance, in each process another one, and always the same: of
// more servers than are used, each process uses others.
func (p *plan) rank(m *member) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %s", p.seed, m.wanted.Endpoint())
	return h.Sum64()
}

// added takes in how an addition ended.
func (p *plan) added(now time.Time, s Server, err error) {
	m := p.members[s.Endpoint()]
	if m == nil {
		return
	}
	m.why = err
	if err != nil {
		m.again = now.Add(max(againAfter, p.cfg.Every))
		return
	}
	m.state, m.server = stateIn, s
}

// removed takes in that a server is out.
func (p *plan) removed(s Server) {
	m := p.members[s.Endpoint()]
	switch {
	case m == nil:
	case !m.present:
		delete(p.members, s.Endpoint())
	default:
		m.state, m.server, m.again = stateNew, Server{}, time.Time{}
	}
}
