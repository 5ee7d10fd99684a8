package main

import (
	"slices"
	"time"

	"github.com/readsplit/readsplit/verify/nemesis"
)

// kind is what an episode is about.
type kind struct {
	name  string
	lanes []nemesis.Lane
	// most is how long it is at most, beside what -episode says.
	most time.Duration
	// takeover: it is a failover. follow: the clients know every server and find the
	// new primary by themselves.
	takeover *nemesis.Takeover
	follow   bool
	// budget: the reads that wanted a replica have few places on the primary. Other
	// episodes have so by chance.
	budget bool
	// mass: millions of rows are deleted.
	mass bool
}

// kinds are the episodes, in turn. The short ones come first: a run of a minute and
// a half has each of them once, but for the last.
var kinds = []kind{
	{name: "replicas", lanes: []nemesis.Lane{nemesis.Replica, nemesis.Data, nemesis.Tokens, nemesis.Operators}},
	{name: "primary", lanes: []nemesis.Lane{nemesis.Replica, nemesis.Primary, nemesis.Data, nemesis.Tokens, nemesis.Operators}},
	{name: "lagging", most: 12 * time.Second, budget: true, lanes: []nemesis.Lane{nemesis.All, nemesis.Moving, nemesis.Data, nemesis.Tokens, nemesis.Operators}},
	{name: "failover", most: 9 * time.Second, takeover: &nemesis.Takeover{Old: nemesis.Killed}},
	{name: "losing_failover", most: 9 * time.Second, takeover: &nemesis.Takeover{Old: nemesis.Killed, Loses: true}},
	{name: "follow", most: 9 * time.Second, follow: true, takeover: &nemesis.Takeover{Old: nemesis.Killed}},
	{name: "follow_alive", most: 10 * time.Second, follow: true, takeover: &nemesis.Takeover{Old: nemesis.Alive}},
	{name: "follow_frozen", most: 10 * time.Second, follow: true, takeover: &nemesis.Takeover{Old: nemesis.Frozen}},
	{name: "losing_follow", most: 9 * time.Second, follow: true, takeover: &nemesis.Takeover{Old: nemesis.Killed, Loses: true}},
	{name: "mass", most: 40 * time.Second, mass: true, lanes: []nemesis.Lane{nemesis.Replica, nemesis.Mass, nemesis.Tokens}},
}

func kindNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// kinds are those that were asked for.
func (o *options) kinds() (chosen []kind) {
	for _, k := range kinds {
		switch {
		case o.only != "" && !slices.Contains(split(o.only), k.name):
		case o.only == "" && len(o.faults) > 0 && k.takeover != nil: // these faults were asked for, and it has none of them
		case o.follow && !k.follow:
		case k.follow && o.plugin != "readsplit": // follows nobody
		case k.mass && o.mass == 0:
		default:
			chosen = append(chosen, k)
		}
	}
	return chosen
}
