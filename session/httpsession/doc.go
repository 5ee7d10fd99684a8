// Package httpsession lets a user's last write follow them from one HTTP request to
// the next, whichever process serves it. One line for the application,
//
//	http.ListenAndServe(addr, httpsession.Handler(mux))
//
// and, where an endpoint wants something else than the rest, one line for it:
//
//	mux.Handle("GET /report", httpsession.UseReplica(report))
//
// Handlers use r.Context() with GORM as they do anyway and never learn that a replica
// exists; readsplit.SessionFrom(r.Context()) is the session of the request.
//
// # What goes over the wire
//
// A response to a request that has written carries a token, in a cookie or a header:
// the position of the write, which the next request brings back. A response never
// overwrites what another one has set, because it cannot know what the client has got
// meanwhile: each sets a cookie of a name of its own, X-Last-Write-Lsn-ID, and removes
// those that came with its request and that its own token contains. So the client has
// one cookie, and for a moment one more for each writing response that overlapped.
//
// The position is captured before the header goes out. Where that cannot be had in
// Options.Wait, and where a transaction is still open when the header must go, the
// token says "unsure", and its bearer reads from the primary for a while.
//
// The package starts no goroutine.
package httpsession
