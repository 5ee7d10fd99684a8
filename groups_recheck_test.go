package readsplit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/policy"
)

// A row that a replica of a group does not have is looked for on the primary where the
// group's rule lets its reads run there, and nowhere else: a report that refuses the
// primary does not get there by finding nothing.
func TestGroupNotFound(t *testing.T) {
	for _, rule := range []groups.Otherwise{groups.Primary, groups.AnyReplica, groups.Refuse} {
		x := grouped(t, []groups.Group{{Name: "reports", Otherwise: rule}})
		// AnyReplica: that replica2 may serve is not a matter of how far it is.
		usual := readsplit.AnyReplica(reports(nobody()))
		for name, ctx := range map[string]context.Context{"Recheck": readsplit.Recheck(usual), "usual": usual} {
			tx := x.WithContext(ctx).Where("title = ?", "nowhere").First(&book{})
			require.ErrorIs(t, tx.Error, gorm.ErrRecordNotFound)
			d, ok := readsplit.DecisionOf(tx)
			require.True(t, ok)
			if rule == groups.Primary && name == "Recheck" {
				assert.Equal(t, policy.ReasonNotFoundRecheck, d.Reason)
				continue
			}
			assert.Equal(t, "replica2", d.Server, "%v, %s", rule, name)
		}
	}
}
