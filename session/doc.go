// Package session holds what a session must see.
//
// A session is whoever must see their own writes: a user, a request, a job. Its
// state is a [Claim], the position of its last write in one database or the
// number of the capture that will tell it, and between processes a [Token], a
// small text that is signed when a key is configured.
//
// A [Store] keeps tokens for users who cannot carry them; [Memory] is one.
//
// The package has no I/O, starts no goroutine and reads no clock, but for that of a
// Memory: the number of the next capture and the time are arguments.
package session
