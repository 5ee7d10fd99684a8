package load

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/readsplit/readsplit/policy"
)

// Reasons tells by which reasons a form's statements outside of transactions were decided,
// the most frequent first, for whoever wonders why reads are where they are.
func (b *Bench) Reasons(form string) string {
	i := slices.IndexFunc(b.apps, func(a *app) bool { return a.form == form && a.plugin != nil })
	if i < 0 {
		return ""
	}
	counted := b.apps[i].plugin.Status().Reasons
	total := uint64(0)
	for _, n := range counted {
		total += n
	}
	reasons := slices.SortedFunc(maps.Keys(counted), func(x, y policy.Reason) int {
		return cmp.Or(cmp.Compare(counted[y], counted[x]), cmp.Compare(x, y))
	})
	var said []string
	for _, r := range reasons[:min(4, len(reasons))] {
		if share := 100 * float64(counted[r]) / float64(total); share >= 1 {
			said = append(said, fmt.Sprintf("%s %.0f %%", r, share))
		}
	}
	return strings.Join(said, ", ")
}
