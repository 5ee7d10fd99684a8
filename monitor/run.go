package monitor

import "github.com/readsplit/readsplit/policy"

// IsPrimary reports whether replica i is the primary itself, under another name.
func (m *Monitor) IsPrimary(i int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, h := m.all()[i], m.primary.history
	return !r.gone && r.up && r.role == policy.RolePrimary && r.server.Started != 0 &&
		r.server.System == h.System && r.server.Started == h.Incarnation
}

// Twin returns the name of another replica that is the same run of the same server as
// replica i: two names, or two addresses, of one.
func (m *Monitor) Twin(i int) (name string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.all()
	r := all[i]
	if !r.up || r.balanced || r.server.Started == 0 {
		return "", false
	}
	for _, other := range all {
		// One that does not answer is no other way to the server: it may be the address that
		// the server has left.
		if other != r && other.up && !other.gone && !other.balanced && other.server.System == r.server.System && other.server.Started == r.server.Started {
			return other.target.Name, true
		}
	}
	return "", false
}

// Reweigh gives the replica at a place another weight.
func (m *Monitor) Reweigh(place, weight int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.all()[place]
	if r.gone || r.target.Weight == weight {
		return
	}
	r.target.Weight = weight
	r.publish()
}
