package tdsenv

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Config says which servers [New] starts. The zero value is right: an availability group of a
// primary and two readable secondaries with one database, app.
type Config struct {
	// Nodes is the number of servers; SQL1 is the first primary. Defaults to 3.
	Nodes int

	// NoGroup starts servers that know of no availability group: each has databases of its own,
	// and the views of the group are empty. Defaults to false.
	NoGroup bool

	// Databases are made on every server. Defaults to one, app.
	Databases []string

	// RoutingList is the READ_ONLY_ROUTING_LIST of every server, which counts while it is the
	// primary: (('SQL2','SQL3'),'SQL1') is a group of two that take turns, and SQL1 when neither
	// can be read. NoRouting is for no list. Defaults to all other servers in turns, and last the
	// primary itself.
	RoutingList string

	// RoutingLists are lists of single servers, by their names. Defaults to RoutingList for all.
	RoutingLists map[string]string

	// Allow says which connections secondaries take. Defaults to AllowAll.
	Allow Access

	// DelayedDurability is delayed_durability of the databases: 0 DISABLED, 1 ALLOWED, 2 FORCED.
	// It is shown, and changes nothing else. Defaults to 0.
	DelayedDurability int

	// EngineEdition is SERVERPROPERTY('EngineEdition'), 5 for an Azure SQL Database. Defaults to 3.
	EngineEdition int

	// Trace is told of every statement before it runs, by the name of its server. It must take
	// calls from several goroutines. Defaults to none.
	Trace func(server, statement string)
}

// NoRouting is a routing list that has no entries: read-only connections stay on the primary.
const NoRouting = "none"

// Access is what a secondary's ALLOW_CONNECTIONS says.
type Access int

// The values of ALLOW_CONNECTIONS.
const (
	AllowAll      Access = iota
	AllowReadOnly        // only with ApplicationIntent=ReadOnly, else error 978
	AllowNone            // error 976
)

// String returns the word of ALLOW_CONNECTIONS: ALL, READ_ONLY or NO.
func (a Access) String() string { return [...]string{"ALL", "READ_ONLY", "NO"}[a] }

const (
	defaultNodes = 3
	// A group has at most nine replicas.
	maxNodes = 9
)

// complete fills in the defaults and reports every problem at once.
func (c Config) complete() (Config, error) {
	var problems []string
	problem := func(format string, a ...any) { problems = append(problems, fmt.Sprintf(format, a...)) }
	if c.Nodes == 0 {
		c.Nodes = defaultNodes
	}
	if c.Nodes < 1 || c.Nodes > maxNodes {
		problem("Config.Nodes is %d: it must be 1 to %d, or 0 for the default of %d", c.Nodes, maxNodes, defaultNodes)
		c.Nodes = 1
	}
	if c.Databases == nil {
		c.Databases = []string{"app"}
	}
	for i, name := range c.Databases {
		if err := databaseName(name); err != nil {
			problem("Config.Databases: %v", err)
		}
		if slices.ContainsFunc(c.Databases[:i], func(other string) bool { return strings.EqualFold(other, name) }) {
			problem("Config.Databases has %q twice", name)
		}
	}
	if len(c.Databases) == 0 {
		problem("Config.Databases is empty: name one, or leave it nil for the default of app")
	}
	if c.Allow < AllowAll || c.Allow > AllowNone {
		problem("Config.Allow is %d: it must be AllowAll, AllowReadOnly or AllowNone", int(c.Allow))
	}
	if c.EngineEdition == 0 {
		c.EngineEdition = 3
	}
	check := func(field, list string) {
		if list == "" || list == NoRouting {
			return
		}
		groups, err := parseRoutingList(list)
		if err != nil {
			problem("%s is %q: %v", field, list, err)
		}
		for _, name := range slices.Concat(groups...) {
			if !c.hasNode(name) {
				problem("%s names %s: the servers are %s to %s", field, name, nodeName(0), nodeName(c.Nodes-1))
			}
		}
	}
	check("Config.RoutingList", c.RoutingList)
	for name, list := range c.RoutingLists {
		if !c.hasNode(name) {
			problem("Config.RoutingLists has %s: the servers are %s to %s", name, nodeName(0), nodeName(c.Nodes-1))
		}
		check(fmt.Sprintf("Config.RoutingLists[%q]", name), list)
	}
	if problems != nil {
		return c, errors.New(strings.Join(problems, "; "))
	}
	return c, nil
}

func nodeName(i int) string { return fmt.Sprintf("SQL%d", i+1) }

func (c Config) hasNode(name string) bool {
	for i := range c.Nodes {
		if nodeName(i) == name {
			return true
		}
	}
	return false
}

func databaseName(name string) error {
	if name == "" || len(name) > 128 || strings.ContainsAny(name, "\"[]'?&;") || strings.EqualFold(name, "master") {
		return fmt.Errorf("%q is no name of a database here: 1 to 128 characters, no quotes, brackets, ?, & and ;, and not master", name)
	}
	return nil
}
