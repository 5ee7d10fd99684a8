package httpsession

import "sync/atomic"

// Stats are what happened since the sessions were made. Each is a count.
type Stats struct {
	Requests uint64 // that passed Handler
	Carried  uint64 // responses that carried a token
	Unsure   uint64 // of these, tokens that said "unsure"
	Held     uint64 // responses that were kept back while a transaction was open
	TooMany  uint64 // requests that came with more tokens than are joined

	// Mistakes in how the application is put together, see docs/http.md.
	OpenAtReturn uint64 // a transaction was open when Handler's part was over
	SentTooEarly uint64 // the header had to go out while a transaction was open: Flush, Hijack, or more than Options.Hold
	Late         uint64 // responses whose request wrote after their header had gone out
	Hijacked     uint64 // connections that were taken over while there was something to tell: who answers there must tell it
	Outside      uint64 // statements in the context of a request without a session: routes outside of Handler, or before it in the chain
	LostContext  uint64 // statements in a context of no request and without a session, while requests were under way
	Nameless     uint64 // responses that had something to tell, to nobody: Carry is None, and neither User nor Identify said who it was

	// What Options.Store did not do.
	LoadFailed    uint64
	AdvanceFailed uint64
}

type counters struct {
	requests, carried, unsure, held, tooMany                                   atomic.Uint64
	openAtReturn, sentTooEarly, late, hijacked, outside, lostContext, nameless atomic.Uint64
	loadFailed, advanceFailed                                                  atomic.Uint64
}

// Stats returns the counters.
func (s *Sessions) Stats() Stats {
	c := &s.counters
	return Stats{
		Requests: c.requests.Load(), Carried: c.carried.Load(), Unsure: c.unsure.Load(), Held: c.held.Load(), TooMany: c.tooMany.Load(),
		OpenAtReturn: c.openAtReturn.Load(), SentTooEarly: c.sentTooEarly.Load(), Late: c.late.Load(), Hijacked: c.hijacked.Load(),
		Outside: c.outside.Load(), LostContext: c.lostContext.Load(), Nameless: c.nameless.Load(),
		LoadFailed: c.loadFailed.Load(), AdvanceFailed: c.advanceFailed.Load(),
	}
}
