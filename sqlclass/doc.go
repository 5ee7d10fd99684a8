// Package sqlclass tells whether a SQL text is provably a read.
//
// It is a lexer with a little structure on top, not a parser: it follows
// literals, comments, quoted names and parentheses exactly, and knows the few
// places where a query can hide a write. Whatever it cannot follow is Unknown,
// and Unknown has to be treated as a write. So a mistake in this package costs a
// read on the primary, not a write on a replica.
//
// # What Read promises
//
// A text that is Read consists of one SELECT, VALUES, TABLE, SHOW or EXPLAIN, and
// as far as its text shows, a hot standby accepts it and it has no side effect:
// no row locks, no SELECT INTO, no INSERT, UPDATE, DELETE or MERGE in a WITH
// query, and only calls of functions that are known to read and change nothing.
//
// # What a text cannot show
//
// Views, operators, casts, types, row security policies and the notation
// table.function can run functions that are not named in the text. A function
// that a user defined under the name of a built-in one, for other argument types
// or in a schema before pg_catalog in the search path, looks like the built-in
// one. A keyword of a newer server (JSON_TABLE) may be the name of a function on
// an older one. A table may be temporary or unlogged. In all these cases the
// replica refuses the write (SQLSTATE 25006 and its like); that refusal is the
// last line of defence, and a caller must be ready to run the statement on the
// primary then. A replica that was promoted has to be kept from accepting it with
// default_transaction_read_only.
//
// # Settings
//
// PostgreSQL is assumed to run with a client encoding of UTF-8. The setting
// standard_conforming_strings may be on, which is the default, or off: where the
// text would be cut differently, both readings have to be reads. On SQL
// Server, QUOTED_IDENTIFIER may be on or off.
//
// The PostgreSQL rules are compared with servers of versions 15 to 18 by the tests
// of internal/corpus: 1,500 statements of applications, tools and manuals, every
// function on the list of harmless ones, and mutated statements run on a hot standby,
// and none that it refuses or that leaves something behind is a Read. The SQL Server
// rules follow its documentation and are narrower.
//
// # Functions on no list
//
// A text that is Unknown only because it calls functions on no list carries the
// flag UnlistedCalls. A caller that knows the functions of its database can ask
// for their names with Functions and take the text for a Read when each of them is
// stable, immutable or Harmless; ClassifyCalls gives the names on its way. What views
// hide can be found by the names that Relations gives.
//
// The package has no state, does no I/O and may be used from any goroutine.
package sqlclass
