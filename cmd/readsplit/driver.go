package main

// The doctor imports no driver of SQL Server, so that programs that use it for PostgreSQL
// compile none. This one asks both.
import _ "github.com/microsoft/go-mssqldb"
