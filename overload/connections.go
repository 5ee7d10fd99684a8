package overload

import (
	"fmt"
	"strings"
)

// Connections is how many connections the processes of an application may open on
// one server, against how many it takes.
type Connections struct {
	// Servers are the names by which the configuration knows it: several where a
	// primary stands in for a replica, or resolvers share a server.
	Servers []string
	// MaxConnections is the server's max_connections, and Reserved what it keeps for
	// superusers and for pg_use_reserved_connections.
	MaxConnections, Reserved int
	// Available is the difference: what all instances have together.
	Available int
	// Needed is what they may open: the limits of the pools and what the plugin keeps
	// for itself, times the instances. A pool without a limit is not counted.
	Needed int
	// Instances is how many processes were declared.
	Instances int
	// Own is how many connections the plugin keeps for itself, in one process.
	Own int
	// Pools are the pools of one process.
	Pools []PoolLimit
}

// PoolLimit is one pool and how many connections it may open.
type PoolLimit struct {
	Name    string // where the limit is set
	MaxOpen int    // 0: no limit
}

// Fits reports whether the server takes all that may be opened, as far as that is
// limited.
func (c Connections) Fits() bool { return c.Needed <= c.Available }

// Unlimited returns the names of the pools without a limit.
func (c Connections) Unlimited() []string {
	var names []string
	for _, p := range c.Pools {
		if p.MaxOpen == 0 {
			names = append(names, p.Name)
		}
	}
	return names
}

// WithSum returns c with Available and Needed.
func (c Connections) WithSum() Connections {
	c.Instances = max(c.Instances, 1)
	c.Available = c.MaxConnections - c.Reserved
	c.Needed = c.Own
	for _, p := range c.Pools {
		c.Needed += p.MaxOpen
	}
	c.Needed *= c.Instances
	return c
}

// Fitting returns what the limits of c.Pools can be so that all fits, in the
// proportion that they have; nil when not even one connection for each does. Pools
// without a limit get what is left.
func (c Connections) Fitting() []int {
	room := c.Available/max(c.Instances, 1) - c.Own
	if room < len(c.Pools) || len(c.Pools) == 0 {
		return nil
	}
	sum, free := 0, 0
	for _, p := range c.Pools {
		sum += p.MaxOpen
		if p.MaxOpen == 0 {
			free++
		}
	}
	limited := room - free // those without a limit have one at least
	out := make([]int, len(c.Pools))
	left := room
	for i, p := range c.Pools {
		if p.MaxOpen > 0 {
			if out[i] = p.MaxOpen; sum > limited {
				// One each, and the rest in proportion.
				out[i] = 1 + (limited-len(c.Pools)+free)*p.MaxOpen/sum
			}
			left -= out[i]
		}
	}
	for i, p := range c.Pools {
		if p.MaxOpen == 0 {
			out[i] = left / free
		}
	}
	return out
}

// String says what may be opened, what the server takes, and what to set to which
// number: one line for a log.
func (c Connections) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s takes %d connections (max_connections %d less %d reserved), and %d may be opened there: %d by this process (",
		strings.Join(c.Servers, ", "), c.Available, c.MaxConnections, c.Reserved, c.Needed, c.Needed/max(c.Instances, 1))
	for _, p := range c.Pools {
		if p.MaxOpen == 0 {
			fmt.Fprintf(&b, "%s without a limit, not counted; ", p.Name)
		} else {
			fmt.Fprintf(&b, "%s %d; ", p.Name, p.MaxOpen)
		}
	}
	fmt.Fprintf(&b, "%d of the plugin's own), times Config.Instances, %d", c.Own, c.Instances)
	var set []string
	for i, n := range c.Fitting() {
		if p := c.Pools[i]; p.MaxOpen != n {
			set = append(set, fmt.Sprintf("%s to at most %d", p.Name, n))
		}
	}
	switch {
	case len(set) > 0:
		fmt.Fprintf(&b, "; set %s", strings.Join(set, " and "))
		if !c.Fits() {
			fmt.Fprintf(&b, ", or max_connections to at least %d", c.Needed+c.Reserved)
		}
	case !c.Fits():
		fmt.Fprintf(&b, "; set max_connections to at least %d, or run fewer instances", c.Needed+c.Reserved)
	}
	return b.String()
}
