package readsplit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/sqlclass"
)

// grouping is what Config.Groups says. It is nil where that is empty, so that a read
// pays nothing for rules that nobody has made.
type grouping struct {
	groups   []groups.Group
	byTable  map[string]string
	estimate bool // some group has a From
}

func (g *grouping) group(name string) *groups.Group {
	if g == nil {
		return nil
	}
	for i := range g.groups {
		if g.groups[i].Name == name {
			return &g.groups[i]
		}
	}
	return nil
}

// newGrouping reports every problem of Config.Groups.
func (p *Plugin) newGrouping(given []groups.Group) (*grouping, error) {
	if len(given) == 0 {
		return nil, nil
	}
	var v problems
	all := &grouping{groups: slices.Clone(given), byTable: make(map[string]string)}
	named := make(map[string]int)
	for i, g := range given {
		field := fmt.Sprintf("Config.Groups[%d]", i)
		if err := g.Validate(); err != nil {
			v.each(field, err)
		}
		if first, dup := named[g.Name]; dup && g.Name != "" {
			v.add("%s.Name is %q, as Config.Groups[%d].Name is: a group is described once; remove one", field, g.Name, first)
		} else {
			named[g.Name] = i
		}
		v.pool(field+".Pool", Pool(g.Pool))
		names, err := p.tableNames(field, g.Tables)
		if err != nil {
			v.errs = append(v.errs, err)
		}
		for _, name := range names {
			if other, taken := all.byTable[name]; taken && other != g.Name {
				v.add("%s.Tables names table %q, which is of group %q already: a table has one group; remove it from one", field, name, other)
				continue
			}
			all.byTable[name] = g.Name
		}
		if g.From == (groups.Estimate{}) {
			continue
		}
		all.estimate = true
		for j, before := range given[:i] {
			if before.From.Covers(g.From) {
				v.add("%s.From is %s, and whatever reaches it reaches that of Config.Groups[%d], %s, which comes first: put the larger one first", field, g.From, j, before.From)
			}
		}
	}
	return all, v.err()
}

// each adds the problems of a part that reports them by its own fields.
func (v *problems) each(field string, err error) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			v.each(field, e)
		}
		return
	}
	v.add("%s.%w", field, err)
}

// classed returns the group that a read is meant for: that of its context or its
// clauses, else that of its tables, else that of its estimate. What must be current is
// meant for none.
func (r *route) classed(ctx context.Context, text string, m *marks) string {
	if group := r.group(m); group != "" {
		return group
	}
	g := r.router.plugin.grouping
	if g == nil || r.mode(m) == policy.Fresh {
		return ""
	}
	if group, _ := g.ofText(r.router, text); group != "" {
		return group
	}
	group, _ := g.ofEstimate(ctx, r.router)
	return group
}

// ofText returns the group of the first table in a text that has one, and that table.
func (g *grouping) ofText(rt *router, text string) (group, table string) {
	if len(g.byTable) == 0 || text == "" {
		return "", ""
	}
	sqlclass.Relations(rt.dialect, text, func(name string) bool {
		table = plainTable(name)
		group = g.byTable[table]
		return group == "" || !rt.members.inGroup(group)
	})
	if !rt.members.inGroup(group) {
		return "", ""
	}
	return group, table
}

// ofEstimate returns the first group that the estimate of a context reaches.
func (g *grouping) ofEstimate(ctx context.Context, rt *router) (group string, e groups.Estimate) {
	if !g.estimate || ctx == nil {
		return "", e
	}
	if e = groups.EstimateOf(ctx); e == (groups.Estimate{}) {
		return "", e
	}
	for i := range g.groups {
		if x := &g.groups[i]; e.Reaches(x.From) && rt.members.inGroup(x.Name) {
			return x.Name, e
		}
	}
	return "", e
}

// classedBy says how the group of a read was chosen.
func (r *route) classedBy(ctx context.Context, text string, m *marks) string {
	g := r.router.plugin.grouping
	switch {
	case m.group != "":
		return "the context names it"
	case r.group(m) != "":
		return "a clause names it"
	case r.parent != nil && r.parent.class != nil:
		return "of the statement that it belongs to"
	case g == nil:
		return ""
	}
	if _, table := g.ofText(r.router, text); table != "" {
		return "table " + table + " is of it"
	}
	name, e := g.ofEstimate(ctx, r.router)
	if x := g.group(name); x != nil {
		return fmt.Sprintf("the estimate of %s reaches %s", e, x.From)
	}
	return ""
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
