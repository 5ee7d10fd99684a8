// Package lsn says where a database is.
//
// It holds the typed positions that readsplit compares (an [LSN] is a byte
// offset in one write-ahead log, a [Position] is an LSN that also names the
// history it belongs to) and the only SQL that readsplit sends to system
// functions: [FullSQL] for a sample of a server, [CaptureSQL] for the position
// of a primary, [ReplaySQL] for the replay position of a standby.
//
// Every query returns one row with one text column, so that it can be read
// through database/sql and through a bare driver connection alike; the parsers
// are strict, because a position that was misread by one digit is a stale read.
//
// The package starts no goroutine and keeps no state.
package lsn
