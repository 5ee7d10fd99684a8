// Package nullpg is a primary and replicas without a database: a driver that answers
// at once, so that what is measured over it is what stands above a driver.
//
// It answers what readsplit asks of PostgreSQL servers as healthy ones do, and the
// statements of one table with canned rows. What it says of the database's functions
// is recorded from a real server.
package nullpg
