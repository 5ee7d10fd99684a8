package doctor

import (
	"fmt"
	"time"
)

// Off turns off what a field of [Topology] says, where zero means its default.
const Off = -1

// Topology is what is to be examined, and what to judge it by. The zero value of
// each field is right; there must be a server, or a Status.
type Topology struct {
	// Primary is where writes go. A DSN of several hosts is examined host by host:
	// exactly one of them must be a primary. Its name defaults to "primary".
	Primary Server
	// Replicas are where reads go. Names must differ.
	Replicas []Server

	// Status is the URL of a running application's status page (package status), or
	// of its status.json. Defaults to none.
	Status string

	// Watch is how long to watch positions. Off: each is read once, so that nothing
	// is said about how lag develops. Defaults to 10 s.
	Watch time.Duration
	// Timeout is the longest time for a connection, and for each answer. Defaults to 5 s.
	Timeout time.Duration
	// Looks is how many connections are opened to each name, one after the other, to see
	// whether it always leads to the same server, and whether a pooler lies between. Two
	// servers that are balanced at random stay hidden from 8 once in 128 times. Defaults
	// to 8.
	Looks int
	// MaxLag is what the application allows (readsplit's Config.MaxLag). Defaults to 2 s.
	MaxLag time.Duration
	// LongTransaction is from which age on a transaction is reported. Defaults to 1 min.
	LongTransaction time.Duration

	// Pool is how many connections one process may open to each replica
	// (Config.Pool.MaxOpen). Defaults to 64, as there.
	Pool int
	// PrimaryPool is the same for the primary (SetMaxOpenConns of the application's
	// pool). Defaults to 0: not known, and not judged.
	PrimaryPool int
	// Instances is how many processes share the servers. Defaults to 1.
	Instances int
}

// Server is a name and how to connect.
type Server struct {
	Name string
	// DSN is a URL or pairs of key=value, as pgx reads them, with the password where
	// it has one; or a connection string of SQL Server (sqlserver://, or pairs with
	// semicolons).
	DSN string
}

const (
	defaultWatch   = 10 * time.Second
	defaultTimeout = 5 * time.Second
	defaultMaxLag  = 2 * time.Second
	defaultLong    = time.Minute
	defaultPool    = 64
	defaultLooks   = 8
)

// complete returns t with its defaults, or what is wrong with it.
func (t Topology) complete() (Topology, error) {
	if t.Primary.DSN == "" && len(t.Replicas) == 0 && t.Status == "" {
		return t, fmt.Errorf("readsplit: Topology names neither a server nor a Status: there is nothing to examine; set Primary and Replicas")
	}
	if t.Primary.DSN == "" && len(t.Replicas) > 0 {
		return t, fmt.Errorf("readsplit: Topology.Primary.DSN is empty: replicas are judged against their primary; name it")
	}
	if t.Primary.Name == "" {
		t.Primary.Name = "primary"
	}
	seen := map[string]bool{t.Primary.Name: true}
	for i, r := range t.Replicas {
		switch {
		case r.Name == "":
			return t, fmt.Errorf("readsplit: Topology.Replicas[%d].Name is empty: every replica needs a name of its own", i)
		case seen[r.Name]:
			return t, fmt.Errorf("readsplit: Topology.Replicas[%d].Name is %q, and so is another server's: names must differ; rename one", i, r.Name)
		case r.DSN == "":
			return t, fmt.Errorf("readsplit: Topology.Replicas[%d].DSN is empty, of %q: say how to connect, or leave it out", i, r.Name)
		}
		seen[r.Name] = true
	}
	for _, d := range []struct {
		field string
		value *time.Duration
		none  time.Duration
		off   bool
	}{
		{"Watch", &t.Watch, defaultWatch, true},
		{"Timeout", &t.Timeout, defaultTimeout, false},
		{"MaxLag", &t.MaxLag, defaultMaxLag, false},
		{"LongTransaction", &t.LongTransaction, defaultLong, false},
	} {
		switch {
		case *d.value == 0:
			*d.value = d.none
		case *d.value < 0 && !(d.off && *d.value == Off):
			return t, fmt.Errorf("readsplit: Topology.%s is %v: it must be positive (0 means %v)", d.field, *d.value, d.none)
		}
	}
	for _, n := range []struct {
		field string
		value *int
		none  int
	}{{"Looks", &t.Looks, defaultLooks}, {"Pool", &t.Pool, defaultPool}, {"PrimaryPool", &t.PrimaryPool, 0}, {"Instances", &t.Instances, 1}} {
		if *n.value < 0 {
			return t, fmt.Errorf("readsplit: Topology.%s is %d: it must be positive (0 means %d)", n.field, *n.value, n.none)
		}
		if *n.value == 0 {
			*n.value = n.none
		}
	}
	return t, nil
}
