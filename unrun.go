package readsplit

import (
	"github.com/readsplit/readsplit/retry"
)

// mostUnrun bounds how often one statement is begun again on one server without
// having been run.
const mostUnrun = 5

// unrun runs a statement by attempt, and again as long as it fails without having
// been run: GORM's store of prepared statements closes those that are in use when
// it is reset, and a server refuses to read by a plan from before a change of the
// schema. attempt is given the text to use.
func (r *route) unrun(s *server, query string, read bool, attempt func(text string) error) error {
	if s == nil && r.prepared != nil && r.router.prepared == nil {
		return r.unrunStored(query, read, attempt)
	}
	err := attempt(query) // a replica's own statements see to their text by themselves
	if err == nil || !read {
		return err
	}
	return r.unrunAfter(err, func() error { return attempt(query) })
}

// unrunAfter is unrun of a read that has failed.
func (r *route) unrunAfter(err error, attempt func() error) error {
	for n := 1; err != nil && n < mostUnrun && retry.OfRead(err).Cause == retry.CauseStalePlan; n++ {
		r.router.counters.retried(retry.CauseStalePlan)
		err = attempt()
	}
	return err
}

// unrunStored is unrun by GORM's store.
func (r *route) unrunStored(query string, read bool, attempt func(text string) error) (err error) {
	plans := &r.router.plugin.main.plans
	for range mostUnrun {
		text, n := query, uint64(0)
		if read {
			text, n = plans.text(query)
		}
		err = attempt(text)
		switch {
		case err == nil:
			return nil
		case err.Error() == "sql: statement is closed" || r.router.closed.Load() && err.Error() == "sql: database is closed":
			r.prepared.Stmts.Delete(text)
		case read && retry.OfRead(err).Cause == retry.CauseStalePlan:
			r.router.counters.retried(retry.CauseStalePlan)
			r.prepared.Stmts.Delete(text)
			plans.stale(n)
		default:
			return err
		}
	}
	return err
}
