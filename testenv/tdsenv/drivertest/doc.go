// Package drivertest holds the proof that the double of package tdsenv is what drivers of SQL
// Server expect: go-mssqldb below GORM, and FreeTDS. It is a module of its own, since an
// application of PostgreSQL should not have to know these drivers.
package drivertest
