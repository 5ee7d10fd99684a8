// Package corpus measures sqlclass on real SQL: what applications, mappers,
// administration tools and manuals send, run on a real hot standby.
//
// testdata/statements holds the statements, one file per origin, and
// testdata/schema the tables that they speak of, one PostgreSQL schema per file
// of the same name (a file of statements that has none runs in "shop"). Which
// statements are reads is not written down anywhere: each is run on a standby,
// and the standby's answer is the truth. Only what a standby accepts although it
// has an effect is marked by hand, and the marks are checked against what the
// connection and the server show afterwards.
//
// The package has nothing but tests. TestClassify prints what make classify shows.
package corpus
