package readsplit

import (
	"maps"
	"slices"
	"strings"
)

// hasGroup reports whether any replica of the plugin is in a group. A mark of a
// whole request also meets statements of resolvers that know nothing of it: they
// go to their primary.
func (p *Plugin) hasGroup(name string) bool {
	return slices.ContainsFunc(p.routers(), func(rt *router) bool { return rt.members.inGroup(name) })
}

// groupNames lists the groups, for an error.
func (p *Plugin) groupNames() string {
	groups := make(map[string]bool)
	for _, rt := range p.routers() {
		for name := range rt.members.groups() {
			groups[name] = true
		}
	}
	if len(groups) == 0 {
		return "no replica is in any group; set Replica.Groups"
	}
	return "the groups are " + strings.Join(slices.Sorted(maps.Keys(groups)), ", ")
}
