package readsplit

import (
	"database/sql"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/sqlclass"
)

// Resolver keeps the statements of some tables on servers of their own: another
// primary, or replicas of the same primary for nothing else. What a session wrote
// is kept per database cluster, so that all resolvers over one primary share it.
//
// A statement belongs to the resolver of the table that it is built for or, if it
// is raw SQL, of the first table in its text that has one. A statement inside a
// transaction stays in it.
type Resolver struct {
	// Name is how the resolver is called in decisions, logs and in
	// Clauses(dbresolver.Use(name)). Required where there are no Tables, and
	// unique; "primary" and names of groups are taken. Defaults to the first table.
	Name string
	// Tables are the tables, each by its name or as a model of it. A table belongs
	// to at most one resolver. Without any, statements get here by Use(Name) alone.
	Tables []any
	// Primary opens the primary of these tables, as for gorm.Open. Defaults to
	// the primary of the plugin.
	Primary gorm.Dialector
	// PrimaryPool sizes the pool of Primary. Defaults to Config.PrimaryPool.
	PrimaryPool Pool
	// Replicas are the servers that reads of these tables may go to. Without any,
	// they go to the primary.
	Replicas []Replica
	// Balancer chooses among Replicas. Defaults to Config.Balancer.
	Balancer policy.Balancer
}

// tables are the resolvers of a plugin by name and by table. They are never
// changed: what is added makes a copy.
type tables struct {
	routers []*router
	byName  map[string]*router
	byTable map[string]*router
}

// AddResolver adds a resolver to a plugin, also while it is in use. What is wrong
// with it is the error, and then nothing is added.
func (p *Plugin) AddResolver(r Resolver) error {
	p.adding.Lock()
	defer p.adding.Unlock()
	if !p.initialized.Load() {
		p.given.Resolvers = append(slices.Clone(p.given.Resolvers), r)
		return nil
	}
	if p.closed.Load() {
		return ErrClosed
	}
	old := p.tables.Load()
	all := &tables{routers: slices.Clone(old.routers), byName: maps.Clone(old.byName), byTable: maps.Clone(old.byTable)}
	if err := p.addTo(all, "Resolver", r); err != nil {
		return err
	}
	added := all.routers[len(all.routers)-1]
	p.connections.starting()
	added.prepare()
	added.start()
	p.tables.Store(all)
	p.checkConnections()
	return nil
}

// addTo adds the router of a resolver to all, which nobody else has seen yet.
func (p *Plugin) addTo(all *tables, field string, r Resolver) error {
	names, err := p.tableNames(field, r.Tables)
	if err != nil {
		return err
	}
	if r.Name == "" && len(names) > 0 {
		r.Name = names[0]
	}
	if err := p.validateResolver(all, field, r, names); err != nil {
		return err
	}
	cfg := p.cfg
	cfg.Replicas = weighed(r.Replicas)
	if r.Balancer != nil {
		cfg.Balancer = cfg.zoned(r.Balancer)
	}
	dialector, pool := p.db.Dialector, p.base
	switch {
	case !isNil(r.Primary):
		dialector, pool = r.Primary, nil
		if dialector.Name() == "sqlserver" {
			if err := intentOf(field+".Primary", r.Name, dialector, false); err != nil {
				return err
			}
		}
	case p.main != nil && p.main.follow != nil:
		pool = p.main.follow.pool
	case p.main != nil && p.main.opened != nil:
		dialector, pool = p.cfg.Primary, p.main.opened.db
	}
	rt, err := p.newRouter(r.Name, field, cfg, dialector, pool, r.PrimaryPool.or(p.cfg.PrimaryPool))
	if err != nil {
		return err
	}
	all.routers = append(all.routers, rt)
	if all.byName == nil {
		all.byName, all.byTable = make(map[string]*router), make(map[string]*router)
	}
	all.byName[r.Name] = rt
	for _, name := range names {
		all.byTable[name] = rt
	}
	return nil
}

// tableNames returns the names of the tables of a resolver.
func (p *Plugin) tableNames(field string, given []any) ([]string, error) {
	var v problems
	var names []string
	for i, table := range given {
		name, ok := table.(string)
		if !ok {
			stmt := &gorm.Statement{DB: p.db}
			if err := stmt.Parse(table); err != nil {
				v.add("%s.Tables[%d] is a %T, from which GORM gets no table: %w; name the table, or give a model", field, i, table, err)
				continue
			}
			name = stmt.Table
		}
		if name == "" {
			v.add("%s.Tables[%d] is empty: name a table or give a model", field, i)
			continue
		}
		names = append(names, plainTable(name))
	}
	return names, v.err()
}

// plainTable returns how a table is looked up: without quotes, and without the
// schema where that is the default one.
func plainTable(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune("\"`[]", r) {
			return -1
		}
		return r
	}, strings.TrimSpace(name))
	return strings.TrimPrefix(name, "public.")
}

// validateResolver reports every problem of a resolver.
func (p *Plugin) validateResolver(all *tables, field string, r Resolver, names []string) error {
	var v problems
	switch {
	case r.Name == "":
		v.add("%s has neither a Name nor Tables: no statement would ever get to it; set one of them", field)
	case r.Name == primaryName:
		v.add("%s.Name is %q, which is how the primary is called: choose another name", field, r.Name)
	case all.byName[r.Name] != nil:
		v.add("%s.Name is %q, as that of another resolver: names must differ; rename one", field, r.Name)
	case slices.ContainsFunc(p.cfg.Groups, func(g groups.Group) bool { return g.Name == r.Name }):
		v.add("%s.Name is %q, which is a group of Config.Groups: Use(%q) would mean both; rename one", field, r.Name, r.Name)
	case slices.ContainsFunc(p.cfg.Replicas, func(s Replica) bool { return slices.Contains(s.Groups, r.Name) }):
		v.add("%s.Name is %q, which is a group of Config.Replicas: Use(%q) would mean both; rename one", field, r.Name, r.Name)
	}
	for i, name := range names {
		if other := all.byTable[name]; other != nil {
			v.add("%s.Tables[%d] is table %q, which belongs to resolver %q already: a table has one resolver; remove it from one", field, i, name, other.name)
		}
	}
	v.replicas(field, r.Replicas)
	v.pool(field+".PrimaryPool", r.PrimaryPool)
	return v.err()
}

// of returns the router of a statement, nil where no resolver takes it.
func (t *tables) of(d sqlclass.Dialect, stmt *gorm.Statement) *router {
	if stmt.TableExpr != nil {
		// Table("users AS u"): stmt.Table is the alias.
		if rt := t.inText(d, "SELECT FROM "+stmt.TableExpr.SQL); rt != nil {
			return rt
		}
	}
	if stmt.SQL.Len() > 0 {
		if rt := t.inText(d, stmt.SQL.String()); rt != nil {
			return rt
		}
	}
	if rt := t.byTable[plainTable(stmt.Table)]; rt != nil && stmt.Table != "" {
		return rt
	}
	if stmt.Schema != nil {
		return t.byTable[plainTable(stmt.Schema.Table)]
	}
	return nil
}

// inText returns the router of the first table in a text that has one.
func (t *tables) inText(d sqlclass.Dialect, text string) (rt *router) {
	sqlclass.Relations(d, text, func(name string) bool {
		rt = t.byTable[plainTable(name)]
		return rt == nil
	})
	return rt
}

// names lists the resolvers and groups that Use may name, for an error.
func (p *Plugin) useNames() string {
	t := p.tables.Load()
	names := slices.Concat(slices.Collect(maps.Keys(t.byName)), slices.Collect(maps.Keys(t.byTable)), slices.Collect(maps.Keys(p.main.members.groups())))
	if len(names) == 0 {
		return "there is neither a resolver nor a group; set Config.Resolvers or Replica.Groups"
	}
	slices.Sort(names)
	return "the resolvers, tables of resolvers and groups are " + strings.Join(slices.Compact(names), ", ")
}

// Pools calls visit with the pool of every server: for each resolver, and for the
// plugin itself under an empty name, the primary (where it has one of its own)
// and the replicas. The pool of a group on a replica has both names, pg3@reports. What may be changed are the limits of a pool.
//
// Where Config.Primary is set, or the primary is followed, the pool of gorm.Open is none of these: it comes
// last, with "gorm.Open" for a server.
func (p *Plugin) Pools(visit func(resolver, server string, pool *sql.DB)) {
	for i, rt := range p.routers() {
		if db, err := rt.primaryDB(); err == nil && (i == 0 || rt.owns()) {
			visit(rt.name, primaryName, db)
		}
		for _, s := range rt.replicas() {
			if s.gone.Load() {
				continue
			}
			if !s.reserved {
				visit(rt.name, s.name, s.pool)
			}
			for _, l := range s.allLanes() {
				visit(rt.name, s.name+"@"+l.class.name, l.pool)
			}
		}
	}
	if p.main != nil && p.main.owns() {
		if db, err := p.baseDB(); err == nil {
			visit("", "gorm.Open", db)
		}
	}
}
