package readsplit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/internal/connstring"
	"github.com/readsplit/readsplit/internal/dialect"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/sqlclass"
)

// What is different on SQL Server, beside where a server is (engine_sqlserver.go).

// engineOf asks a replica.
func (rt *router) engineOf(r Replica) engine {
	if rt.database == nil {
		return nil
	}
	return rt.database.replica(r)
}

// tellsNames reports whether a name of several servers is found out about by the names
// that answer, and not by the monitor.
func tellsNames(d gorm.Dialector) bool { return d.Name() == "sqlserver" }

// bytes returns what counts the bytes of log between two positions; nil: they are bytes.
// The numbers of a marker table count captures.
func (rt *router) bytes() func(from, to lsn.LSN) uint64 {
	switch {
	case rt.dialect != sqlclass.SQLServer:
		return nil
	case rt.cfg.SQLServer.Marker != "":
		return func(lsn.LSN, lsn.LSN) uint64 { return 0 }
	}
	return lsn.SQLServerBytes
}

// unlike reports a replica that is another kind of database than its primary, or whose
// connections cannot be to a replica.
func (rt *router) unlike(field string, r Replica) error {
	if rt.database == nil || isNil(r.Dialector) {
		return nil // reported elsewhere
	}
	if at := rt.database.dialect(); (at == sqlclass.SQLServer) != (r.Dialector.Name() == "sqlserver") {
		return fmt.Errorf("readsplit: %s.Dialector (%q) is of dialect %q, and its primary is not: a replica is a copy of its primary; name one of the same kind", field, r.Name, r.Dialector.Name())
	} else if at != sqlclass.SQLServer {
		return nil
	}
	return intentOf(field+".Dialector", r.Name, r.Dialector, true)
}

// intentOf reports a DSN of SQL Server whose connections would not be where they are
// meant to be: what the driver takes for no intent at all makes replicas of the primary,
// without a word.
func intentOf(field, name string, d gorm.Dialector, replica bool) error {
	text := dialect.Field(d, "DSN")
	if dialect.HasOwnPool(d) || !text.IsValid() || text.Kind() != reflect.String {
		return nil // a pool of the application's: its DSN is not to be seen
	}
	if err := connstring.CheckIntent(text.String(), replica); err != nil {
		return fmt.Errorf("readsplit: %s (%q): %w", field, name, err)
	}
	return nil
}

// fitsSQLServer reports what of a configuration does not work with SQL Server.
func fitsSQLServer(db *gorm.DB, c Config) error {
	if db.Dialector.Name() != "sqlserver" {
		of := func(r Resolver) bool { return !isNil(r.Primary) && r.Primary.Name() == "sqlserver" }
		if c.SQLServer.Marker != "" && !slices.ContainsFunc(c.Resolvers, of) {
			return fmt.Errorf("readsplit: Config.SQLServer.Marker is set for a database of dialect %q: it works with sqlserver alone; leave it out", db.Dialector.Name())
		}
		return nil
	}
	var errs []error
	if c.FollowPrimary {
		errs = append(errs, errors.New("readsplit: Config.FollowPrimary is true for SQL Server: there the listener of the availability group follows the primary; name the listener in the primary's DSN, and leave FollowPrimary out"))
	}
	if c.Settings != nil {
		errs = append(errs, errors.New("readsplit: Config.Settings is set for SQL Server: settings work with postgres; leave it out"))
	}
	primary := db.Dialector
	if !isNil(c.Primary) {
		primary = c.Primary
	}
	errs = append(errs, intentOf("the primary's dialector", primaryName, primary, false))
	return errors.Join(errs...)
}

// sqlServer validates Config.SQLServer.
func (v *problems) sqlServer(c Config) {
	if err := c.SQLServer.Validate(); err != nil {
		v.add("Config.SQLServer.Marker: %w", err)
	}
}

// stays returns until when whoever wrote now reads from the primary, whatever position a
// replica shows; zero: the position decides.
func (rt *router) stays(now time.Time) time.Time {
	if rt.database == nil || !rt.database.sticky() {
		return time.Time{}
	}
	return now.Add(rt.cfg.StickyWindow)
}

// optionsFor returns options for a transaction as the driver takes them. There is no
// read-only transaction on SQL Server, and its driver refuses the option.
func (rt *router) optionsFor(opts *sql.TxOptions) *sql.TxOptions {
	if opts != nil && opts.ReadOnly && rt.dialect == sqlclass.SQLServer {
		return &sql.TxOptions{Isolation: opts.Isolation}
	}
	return opts
}

// keepsSnapshot reports whether a transaction on a replica sees one state from its first
// read on, whatever its level: a secondary of SQL Server runs every one as SNAPSHOT.
func (rt *router) keepsSnapshot() bool { return rt.dialect == sqlclass.SQLServer }

// owesSince reports whether what a read must see was written, or came with a token,
// after a time.
func (rt *router) owesSince(ctx context.Context, t time.Time) bool {
	m := marksOf(ctx)
	if m.session == nil {
		return rt.process.newerThan(t) || rt.heard.newerThan(t)
	}
	return m.session.ledgerOf(rt).claim.newerThan(t) || rt.unscoped.newerThan(t)
}

// judgedThere is judged for SQL Server, which has no catalogue that would have to be
// asked: a function of the database's own can change nothing in it. What WriteFunctions
// names is one that reaches out of it (CLR, an extended procedure), and what is no
// function with a schema is not one of the database's own.
func (rt *router) judgedThere(query string, info sqlclass.Info) sqlclass.Info {
	cfg := &rt.cfg
	if info.Class != sqlclass.Read && !(info.Class == sqlclass.Unknown && info.Flags.Has(sqlclass.UnlistedCalls)) {
		return info
	}
	if leavesDatabase(query) {
		info.Class, info.Flags = sqlclass.Unknown, info.Flags&^sqlclass.UnlistedCalls
		return info
	}
	if info.Class == sqlclass.Read && len(cfg.WriteFunctions) == 0 {
		return info
	}
	reads := true
	sqlclass.Functions(sqlclass.SQLServer, query, func(name string) bool {
		name = strings.NewReplacer("[", "", "]", "", `"`, "").Replace(strings.ToLower(name))
		switch {
		case declares(cfg.WriteFunctions, name):
			reads = false
		case declares(cfg.ReadFunctions, name), strings.Contains(name, "."):
		case !sqlclass.Harmless(sqlclass.SQLServer, name):
			reads = false
		}
		return reads
	})
	switch {
	case !reads:
		info.Class = sqlclass.Unknown
	case info.Class == sqlclass.Unknown:
		info.Class, info.Flags = sqlclass.Read, info.Flags&^sqlclass.UnlistedCalls
	}
	return info
}

// leavesDatabase reports whether a query reads a table or calls a function by a name of
// three parts: each database of a server has positions of its own, and those of the
// connection's prove nothing of another's, which need not even be there on a replica.
func leavesDatabase(query string) (leaves bool) {
	if strings.Count(query, ".") < 2 {
		return false
	}
	visit := func(name string) bool {
		leaves = leaves || ofAnotherDatabase(name)
		return !leaves
	}
	sqlclass.Relations(sqlclass.SQLServer, query, visit)
	if !leaves {
		sqlclass.Functions(sqlclass.SQLServer, query, visit)
	}
	return leaves
}

// ofAnotherDatabase reports whether a name has three parts, and is no method of XML:
// t.document.value(..).
func ofAnotherDatabase(name string) bool {
	dots, last := 0, 0
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '[':
			i += max(strings.IndexByte(name[i:], ']'), 0)
		case '"':
			i += 1 + max(strings.IndexByte(name[i+1:], '"'), 0)
		case '.':
			dots, last = dots+1, i+1
		}
	}
	if dots < 2 {
		return false
	}
	switch name[last:] {
	case "value", "query", "exist", "nodes":
		return strings.Contains(name, "..")
	}
	return true
}

// declares reports whether a list of functions names one: with its schema, or without;
// one of another database by what stands behind that.
func declares(list []string, name string) bool {
	return slices.ContainsFunc(list, func(declared string) bool {
		declared = strings.NewReplacer("[", "", "]", "", `"`, "").Replace(strings.ToLower(declared))
		if strings.Contains(name, "..") { // of the default schema, whichever that is
			declared = declared[strings.LastIndexByte(declared, '.')+1:]
		}
		return declared == name || strings.HasSuffix(name, "."+declared)
	})
}

// errDialTimeout ends the opening of a connection that does not end: a listener that
// routes to itself is followed by the driver for ever.
var errDialTimeout = fmt.Errorf("readsplit: no connection in %v: does the address answer, and does READ_ONLY_ROUTING_URL lead to a server, and not back to the listener? %w", dialTimeout, retry.ErrServerDead)
