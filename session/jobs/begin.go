package jobs

import (
	"context"
	"time"

	"github.com/readsplit/readsplit"
)

// Policy says from where a job reads. The zero Policy is [Sticky].
type Policy struct {
	always bool
	wait   time.Duration
}

// Always makes all reads of a job go to the primary: for jobs that act on what they
// read.
func Always() Policy { return Policy{always: true} }

// Sticky lets a job begin at once. Its reads follow the usual rules: replicas that
// have what the job must see, and the primary while there is none.
func Sticky() Policy { return Policy{} }

// Delayed lets a job wait, for d at most, until a replica has what it must see; then
// it is as [Sticky]. It spares the primary where a job need not run at once. Zero or
// less does not wait.
func Delayed(d time.Duration) Policy { return Policy{wait: d} }

// Begun says how a job begins. Its reads are right whatever it says.
type Begun struct {
	// Waited is how long Begin waited for a replica.
	Waited time.Duration
	// InVain says that it waited and that no replica has what the job must see, so
	// that the job would read from the primary. A queue that can put a job back for
	// later spares the primary by it. Where no waiting would help, because there is
	// no replica or reads are kept from them, InVain is false: a job that was put back
	// would never run.
	InVain bool
	// NoToken says that the job came without a token.
	NoToken bool
}

// Begin returns the context for one job whose message had this token: with a new
// session, which sees what the token says. Marks such as readsplit.ReadOnly may be
// added to it.
//
// An empty token, of an older producer or of one without a plugin, makes the job see
// everything that was committed before Begin was called: it was enqueued before that.
// A token that is forged, truncated or of another cluster keeps the job on the
// primary for Config.StickyWindow and is counted in Status; it is never an error.
//
// Begin each job with the context of the worker, not with that of the job before. If
// it is given the very context that Begin returned, it takes the one from which that
// was made.
func Begin(ctx context.Context, token string, p Policy) (context.Context, Begun) {
	if before, ok := ctx.(*jobContext); ok {
		ctx = before.worker
	}
	s := readsplit.NewSession()
	begun := Begun{NoToken: token == ""}
	if begun.NoToken {
		s.CatchUp()
	}
	s.Join(token)
	job := readsplit.WithSession(ctx, s)
	switch {
	case p.always:
		job = readsplit.Fresh(job)
	case p.wait > 0:
		begun.await(ctx, s, p.wait)
	}
	return &jobContext{Context: job, worker: ctx}, begun
}

func (b *Begun) await(ctx context.Context, s *readsplit.Session, most time.Duration) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	reached := s.Await(ctx)
	b.Waited = time.Since(began)
	b.InVain = !reached && ctx.Err() != nil
}

// jobContext knows the context of its worker, so that a worker which keeps both in
// one variable carries nothing from job to job.
type jobContext struct {
	context.Context
	worker context.Context
}
