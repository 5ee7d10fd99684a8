package orderlab

import "fmt"

// LeastFaultReads is how many reads must have run while a fault was in force.
const LeastFaultReads = 100

// Problem is a sentence about an outcome.
func (o *Outcome) Problem(format string, args ...any) string {
	return fmt.Sprintf("phase=%s strategy=%s: ", o.Phase, o.Strategy) + fmt.Sprintf(format, args...)
}

// Doubts are the problems of an outcome that no strategy may have: who served the reads
// is in dispute, the fault was not in force for long enough.
func (o *Outcome) Doubts() (all []string) {
	for _, d := range o.Disagreements {
		all = append(all, o.Problem("who served the reads is in dispute: %s", d))
	}
	if o.Faulty && o.FaultReads < LeastFaultReads {
		all = append(all, o.Problem("only %d reads ran while the fault was in force, at least %d must: the trial proves nothing", o.FaultReads, LeastFaultReads))
	}
	return all
}

// Failures are the lists that ended with an error.
func (o *Outcome) Failures() (all []string) {
	if o.Failed > 0 {
		all = append(all, o.Problem("%d lists failed, the first with: %v", o.Failed, o.Failure))
	}
	return all
}

// Losses are the orders that were missing, with evidence.
func (o *Outcome) Losses() (all []string) {
	if o.Missed == 0 {
		return nil
	}
	all = append(all, o.Problem("%d of %d orders were missing in a list that their customer read after the commit", o.Missed, o.Orders))
	for _, e := range o.Evidence {
		all = append(all, o.Problem("%s", e))
	}
	return all
}
