package status

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/discover"
	"github.com/readsplit/readsplit/policy"
)

// A page says that nobody follows what comes and goes, and does not call the primary a
// mistake where a name of all servers has it.
func TestDiscoveryOnThePage(t *testing.T) {
	now := time.Now()
	up := readsplit.ServerStatus{Up: true, Sampled: now, LagKnown: true, Role: policy.RoleStandby, Discovered: true}
	one, itself, primary := up, up, up
	one.Name, itself.Name, primary.Name = "a:1", "b:1", "primary"
	itself.Role, itself.IsPrimary, primary.Role = policy.RolePrimary, true, policy.RolePrimary
	st := readsplit.Status{Primary: primary, Replicas: []readsplit.ServerStatus{one, itself}, Discovery: discover.Status{Source: "dns pg", Servers: []discover.Found{
		{Server: discover.Server{Name: "a:1"}, InUse: true},
		{Server: discover.Server{Name: "c:1"}, Why: errors.New("no")},
	}}}
	says := func() Headline {
		return headline(&Report{Routers: []Router{describe(&st, now)}})
	}
	assert.Equal(t, Headline{Level: Good, Text: "All servers are up."}, says())
	r := describe(&st, now)
	assert.Equal(t, &Discovery{Source: "dns pg", NotUsed: map[string]string{"c:1": "no"}}, r.Discovery)
	assert.Equal(t, "primary", r.Servers[2].State)

	st.Discovery.Err = errors.New("no such host")
	assert.Equal(t, Headline{Level: Warn, Text: "Discovery by dns pg fails: the replicas stay as they are."}, says())
	st.Discovery.Err, st.Discovery.Empty, st.Discovery.Servers[0].Missing = nil, true, now
	assert.Equal(t, Headline{Level: Warn, Text: "Discovery by dns pg finds nobody: the replicas stay as they are for now."}, says())
	assert.Equal(t, []string{"a:1"}, describe(&st, now).Discovery.Missing)
}
