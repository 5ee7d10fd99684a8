// Package catalog knows what the functions, views and tables of one PostgreSQL
// database do, and corrects by that knowledge what a statement's text alone says.
//
// To package sqlclass a call of a function on no list is not provably a read, so
// SELECT total(1) runs on the primary; and SELECT * FROM open_orders is a read, even
// if open_orders is a view that takes an advisory lock on whatever server it runs.
// [Catalog.Classify], or [Catalog.Judge] of what sqlclass has said, settles both from a
// snapshot of the primary's catalogue:
//
//   - a statement that is unknown only because of the functions it calls
//     (sqlclass.UnlistedCalls) is a Read if each of them is Harmless, stable or
//     immutable, or declared in [Config].ReadFunctions;
//   - a Read is Unknown if it names something that does more than reading; and a
//     statement that sets parameters until the end of its transaction and names such a
//     thing is not one that does that alone (sqlclass.SetsLocal).
//
// # What makes a Read Unknown
//
// A function is risky that is volatile and not in ReadFunctions, or that is in WriteFunctions. A
// function counts by the worst of all its overloads in every schema that the call
// can mean, an aggregate also by its support functions, any function also by the
// defaults of its arguments, a procedure always. The server's own functions count as
// the lexer's lists say; those of a newer version, on no list, by their volatility. From
// there it spreads: to a view, the row-security policies of a table, the checks of a
// domain, an operator, that call it, to the types that hold that domain, and to
// everything over them at any depth.
// Risky are also views that lock rows and tables that are unlogged, with the
// partitioned tables above them: a standby refuses those.
//
// A Read becomes Unknown when it names
//
//   - a function of a built-in one's name that is risky in some schema, by a call;
//   - a built-in function that is declared in WriteFunctions;
//   - any risky function that can be called with one argument, behind a dot: (name).f
//     stands for f(name), and x.f may do so, which is why a column of that name counts;
//   - a risky relation, where a relation may stand;
//   - a risky domain, a type that holds one (composite, range), or one to which a risky
//     cast leads, anywhere; the row of a table that has a column of such a type,
//     where the name of the table can be that of a type: NULL::orders;
//   - a risky operator, unless the server has one of that symbol too.
//
// All of it errs to the primary: an alias of that name, or another schema's table,
// is enough.
//
// # What cannot be seen
//
//   - What a function does that is declared stable or immutable, and not in WriteFunctions.
//     PostgreSQL itself believes the declaration.
//   - In a statement (in a view it is seen): a risky operator that has the symbol of
//     one of the server's own. Nearly every text has an =, and one volatile = for a
//     type of the user's own would take all reads from the replicas.
//   - Risky casts that are implicit or lead to a type of the server; risky domains
//     that the text does not name, as the type of a function's argument, of a column
//     in coalesce(column, '1'), or within a row in jsonb_populate_record(alias, $1); the
//     input functions and subscript handlers of types, operator classes.
//   - What runs elsewhere: views behind a foreign table, queries in a text that a
//     function runs, procedural code.
//   - Temporary relations and functions: they belong to one connection.
//   - Changes that another program made less than [Config].Every ago; of one that
//     [Catalog.Refresh] tells of, everything but functions until it was loaded: a new
//     view is what it seems for some milliseconds.
//   - What the views of pg_catalog and information_schema do.
//
// In these cases the refusal of the replica (SQLSTATE 25006, 0A000) is the last line.
//
// # How it knows
//
// One query without locks, parameters or session state reads functions, dependencies
// and stored expressions whole; every role may run it. pg_depend does not name
// built-in functions, such as pg_advisory_lock, and pg_get_viewdef would wait for
// every migration that holds a lock, so the oids of functions are taken from the
// stored expressions themselves. A server that stores them in another form is
// noticed: every view, policy and domain is risky then.
//
// A second, cheaper query tells whether anything changed. It runs every
// [Config].Every, less often where it takes long: 2 % of the time, down to once a minute.
//
// After [Catalog.Refresh], and until a load that began later has ended well, no function
// of the application's is known: any of them may be another one now. Relations are what
// they were before.
//
// [Catalog.Start] starts one goroutine, which [Catalog.Close] joins.
package catalog
