package monitor

import "time"

const (
	// fewReplicas is up to how many every answer is published at once.
	fewReplicas = 32
	// perReplica is for how long, times the number of replicas, the news of many are
	// collected: to publish costs some 60 ns for each of them.
	perReplica = 20 * time.Microsecond
)

// publishLater publishes what a regular sample of r has found, together with that of
// others: each publication is a copy of all replicas, so that a thousand, five times a
// second each, would cost a core. What takes an approval away is published at once, by
// whoever finds it, and so is whatever somebody waits for. The news that wait here for
// the next publication (at the latest the next sample of the primary brings it) are
// only younger than what is published: until then r seems as old as it was. The caller
// holds Monitor.mu.
func (r *replica) publishLater() {
	m := r.m
	if r.hurry || r.pollFor != 0 || r.differs() {
		r.publish()
		return
	}
	n := len(m.all())
	if n <= fewReplicas || time.Since(m.published) >= time.Duration(n)*perReplica {
		r.publish()
		return
	}
	m.late[r.i] = struct{}{}
}

// differs reports whether what is published of r says something else than what is known
// now, and not only something older. The caller holds Monitor.mu.
func (r *replica) differs() bool {
	old, now := &r.m.snap.Load().Replicas[r.i], r.view()
	return old.Up != now.Up || old.Role != now.Role || old.Generation != now.Generation || old.Balanced != now.Balanced ||
		old.Paused != now.Paused || old.CutOff != now.CutOff || old.AllowPrimary != now.AllowPrimary || old.Margin != now.Margin ||
		old.Applied.History != now.Applied.History || old.Gone != now.Gone || old.Drained != now.Drained ||
		old.EjectedUntil != now.EjectedUntil || old.Since != now.Since || now.Applied.LSN < old.Applied.LSN
}
