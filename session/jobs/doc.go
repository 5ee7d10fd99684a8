// Package jobs carries what a session must see through a queue, so that a job sees
// what was written before it was enqueued, on whatever process it runs.
//
// Whoever enqueues takes a [Token], a text for any message; whoever works calls
// [Begin] with it and gives the returned context to the job's statements:
//
//	token, err := jobs.Token(ctx)                // after the commit
//	ctx, _ := jobs.Begin(ctx, token, jobs.Sticky())
//
// An outbox has no moment after the commit at which its writer could take a token:
// whoever takes messages out of it uses [Capture] instead.
//
// The package starts no goroutine.
package jobs
