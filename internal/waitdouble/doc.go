// Package waitdouble is a stand-in for a standby of PostgreSQL 19, for tests where none is
// at hand: a proxy to a real standby of an older version, which passes everything on but
// WAIT FOR LSN. That it answers itself, over the real replication: it looks at what the
// standby has replayed until the position is there.
//
// What it knows of the statement is what PostgreSQL's documentation and source say: its
// options and their checks, its answers, the errors in place of answers without NO_THROW,
// that it takes whole milliseconds and 0 for ever, that a query's snapshot in the same
// transaction and locks of the session are refused, that a cancel request ends it, and what
// it says of a server that was promoted. It knows it in the simple protocol alone.
package waitdouble
