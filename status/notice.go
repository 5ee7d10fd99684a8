package status

import (
	"time"

	"github.com/readsplit/readsplit"
)

// deaf is shown where the ring gets nothing: an empty list would say that nothing has
// happened.
const deaf = "Decisions and changes are missing here: the ring of status.Options.Ring is not among Config.Observers of this plugin."

// notices are what is wrong with the page itself. Whatever the plugin has learnt of a
// primary, it has told its observers that this is up or down.
func (p *Page) notices(all []readsplit.Status, now time.Time) []string {
	ring := p.opts.Ring
	if ring == nil || len(ring.Changes()) > 0 || len(ring.Decisions()) > 0 {
		p.deafSince = time.Time{}
		return nil
	}
	for i := range all {
		if !all[i].Primary.Sampled.IsZero() {
			if p.deafSince.IsZero() {
				p.deafSince = now
			}
			if now.Sub(p.deafSince) >= hearWithin {
				return []string{deaf}
			}
			return nil
		}
	}
	return nil
}

// hearWithin is how long after the first news of the primary its change may come: it is
// told a moment later.
const hearWithin = time.Second
