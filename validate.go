package readsplit

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

// validate reports every problem of c at once, each with the field, the value,
// the rule and the remedy. c has its defaults.
func (c Config) validate() error {
	var v problems
	v.replicas("Config", c.Replicas)
	v.discovery(c)
	v.durations(c)
	v.functions(c)
	v.pool("Config.Pool", c.Pool)
	v.pool("Config.PrimaryPool", c.PrimaryPool)
	if c.Default > PreferPrimary {
		v.add("Config.Default is %d: it must be PreferReplica or PreferPrimary", c.Default)
	}
	if c.PrimaryLost > Refuse {
		v.add("Config.PrimaryLost is %d: it must be ServeReplicas or Refuse", c.PrimaryLost)
	}
	if c.Guarantee > session.Causal {
		v.add("Config.Guarantee is %d: it must be session.ReadYourWrites, session.MonotonicReads or session.Causal", c.Guarantee)
	}
	v.lifetime(c)
	if c.NotFound > policy.RecheckOnPrimary {
		v.add("Config.NotFound is %d: it must be policy.NotFoundStands or policy.RecheckOnPrimary", c.NotFound)
	}
	v.conflictGroup(c)
	if c.AttemptTimeout < 0 && c.AttemptTimeout != Off {
		v.add("Config.AttemptTimeout is %v: it must be positive, or 0 or readsplit.Off for no limit", c.AttemptTimeout)
	}
	if c.FollowPrimary && len(c.Replicas) == 0 {
		v.add("Config.FollowPrimary is true, but Config.Replicas is empty: there is nobody to follow; add the replicas, or name all hosts in the primary's DSN instead")
	}
	v.statedLags(c)
	for i, r := range c.Replicas {
		if c.FollowPrimary && r.Balanced {
			v.add("Config.Replicas[%d].Balanced is true with Config.FollowPrimary: a name of several servers is no host that could become the primary; name all hosts in the primary's DSN instead", i)
		}
	}
	if _, err := observe.Of(c.Observers...); err != nil {
		v.errs = append(v.errs, fmt.Errorf("readsplit: Config.Observers%w", err))
	}
	for i, p := range c.Policies {
		if isNil(p) {
			v.add("Config.Policies[%d] is nil: remove it or name a policy", i)
		}
	}
	if err := c.Traffic.Validate(); err != nil {
		v.errs = append(v.errs, fmt.Errorf("readsplit: Config.Traffic: %w", err))
	}
	if err := c.Spill.Validate(); err != nil {
		v.errs = append(v.errs, fmt.Errorf("readsplit: Config.Spill: %w", err))
	}
	if err := c.Health.Validate(); err != nil {
		v.errs = append(v.errs, fmt.Errorf("readsplit: Config.Health: %w", err))
	}
	if err := c.PrimaryBudget.Validate(); err != nil {
		v.errs = append(v.errs, fmt.Errorf("readsplit: Config.PrimaryBudget: %w", err))
	}
	v.sqlServer(c)
	if c.Instances < 0 {
		v.add("Config.Instances is %d: it must be how many processes share the servers, 1 or more (0 means 1)", c.Instances)
	}
	if err := c.Retry.Validate(); err != nil {
		v.errs = append(v.errs, fmt.Errorf("readsplit: Config.Retry: %w", err))
	}
	if _, err := session.NewKeys(c.TokenKeys...); err != nil {
		v.errs = append(v.errs, fmt.Errorf("readsplit: Config.TokenKeys: %w", err))
	}
	if err := session.CheckService(c.Service); err != nil {
		v.errs = append(v.errs, fmt.Errorf("readsplit: Config.Service: %w", err))
	}
	return v.err()
}

type problems struct{ errs []error }

func (v *problems) err() error { return errors.Join(v.errs...) }

func (v *problems) add(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("readsplit: "+format, args...))
}

func (v *problems) replicas(of string, replicas []Replica) {
	names := make(map[string]int, len(replicas))
	for i, r := range replicas {
		field := fmt.Sprintf("%s.Replicas[%d]", of, i)
		if r.Name == "" {
			v.add("%s.Name is empty: every replica needs a name of its own, for logs and metrics", field)
		} else if first, dup := names[r.Name]; dup {
			v.add("%s.Name is %q, as %s.Replicas[%d].Name is: names must differ; rename one", field, r.Name, of, first)
		} else if r.Name == primaryName {
			v.add("%s.Name is %q, which is how the primary is called: choose another name", field, r.Name)
		} else {
			names[r.Name] = i
		}
		v.replicaAlone(field, r)
	}
}

// replica reports the problems of a replica that is not one of a list.
func (v *problems) replica(field string, r Replica) {
	switch r.Name {
	case "":
		v.add("%s.Name is empty: every replica needs a name of its own, for logs and metrics", field)
	case primaryName:
		v.add("%s.Name is %q, which is how the primary is called: choose another name", field, r.Name)
	}
	v.replicaAlone(field, r)
}

func (v *problems) replicaAlone(field string, r Replica) {
	if isNil(r.Dialector) {
		v.add("%s.Dialector is nil: set it to what gorm.Open would take, for instance postgres.Open(dsn)", field)
	}
	if r.Weight < 0 {
		v.add("%s.Weight is %d: it must be 1 or more (0 means 1); leave a replica out to give it nothing", field, r.Weight)
	}
	if r.Weight > policy.MaxWeight {
		v.add("%s.Weight is %d: it must be %d or less; weights are relative to each other: divide all of them by the same number", field, r.Weight, policy.MaxWeight)
	}
	for j, g := range r.Groups {
		if g == "" {
			v.add("%s.Groups[%d] is empty: name the group or remove it", field, j)
		}
	}
	if len(r.Groups) == 0 && r.Reserved {
		v.add("%s.Reserved is true, but it has no Groups: no read would ever go there; name its groups", field)
	}
	if len(r.Groups) == 0 && r.Logical {
		v.add("%s.Logical is true, but it has no Groups: only reads of its groups may go to a server that is fed by logical replication; name its groups", field)
	}
	if r.Logical && r.AllowPrimaryAsReplica {
		v.add("%s.AllowPrimaryAsReplica is true, and so is Logical: a server that is fed by logical replication is never a primary of this application; leave one of them out", field)
	}
	if r.Logical && (r.Balanced || r.StatedLag != 0) {
		v.add("%s.Logical is true, and so is Balanced, or StatedLag is set: they are about servers that are checked, or trusted, to be fresh enough, and nothing is known of one that is fed by logical replication; leave them out", field)
	}
	if r.StatedLag < 0 {
		v.add("%s.StatedLag is %v: it must be positive, or 0 for a server that tells its position", field, r.StatedLag)
	}
	v.pool(field+".Pool", r.Pool)
}

// statedLags reports servers that would be trusted to show a write before they have to.
func (v *problems) statedLags(c Config) {
	for i, r := range c.Replicas {
		v.statedLag(fmt.Sprintf("Config.Replicas[%d]", i), r, c)
	}
	for i, of := range c.Resolvers {
		for j, r := range of.Replicas {
			v.statedLag(fmt.Sprintf("Config.Resolvers[%d].Replicas[%d]", i, j), r, c)
		}
	}
}

func (v *problems) statedLag(field string, r Replica, c Config) {
	least := r.StatedLag + c.MaxSampleAge
	if r.StatedLag > 0 && c.StickyWindow > 0 && c.MaxSampleAge > 0 && c.StickyWindow < least {
		v.add("%s.StatedLag is %v and Config.StickyWindow is %v, shorter than StatedLag + MaxSampleAge, %v: a session could leave the primary for a replica that does not have its write yet; raise StickyWindow", field, r.StatedLag, c.StickyWindow, least)
	}
}

// conflictGroup reports a group that no replica is in: what should spare the
// primary would go there, and nobody would notice.
func (v *problems) conflictGroup(c Config) {
	if c.ConflictGroup == "" {
		return
	}
	groups := make(map[string]bool)
	add := func(replicas []Replica) {
		for _, r := range replicas {
			for _, g := range r.Groups {
				groups[g] = true
			}
		}
	}
	add(c.Replicas)
	for _, g := range c.Groups {
		groups[g.Name] = true
	}
	if c.Discover.Source != nil {
		add([]Replica{c.Discovered})
		if len(c.Discovered.Groups) == 0 {
			return // the source may name it
		}
	}
	for _, r := range c.Resolvers {
		add(r.Replicas)
	}
	delete(groups, "") // reported by itself
	if !groups[c.ConflictGroup] {
		v.add("Config.ConflictGroup is %q: no replica is in this group; add it to the Groups of the replicas meant for reports, or name one of %q", c.ConflictGroup, slices.Sorted(maps.Keys(groups)))
	}
}

func (v *problems) durations(c Config) {
	positive := func(field string, d time.Duration, off bool) {
		switch {
		case d > 0 || off && d == Off:
		case off:
			v.add("%s is %v: it must be positive, or readsplit.Off", field, d)
		default:
			v.add("%s is %v: it must be positive (0 means the default)", field, d)
		}
	}
	positive("Config.MaxLag", c.MaxLag, true)
	positive("Config.SampleEvery", c.SampleEvery, false)
	positive("Config.MaxSampleAge", c.MaxSampleAge, false)
	positive("Config.SampleTimeout", c.SampleTimeout, false)
	positive("Config.MaxWait", c.MaxWait, true)
	positive("Config.StickyWindow", c.StickyWindow, false)
	if c.SampleEvery > 0 && c.MaxSampleAge > 0 && c.MaxSampleAge < c.SampleEvery {
		v.add("Config.MaxSampleAge is %v, shorter than Config.SampleEvery, %v: every sample would be too old before the next one; raise MaxSampleAge", c.MaxSampleAge, c.SampleEvery)
	}
	positive("Config.IdleSampleEvery", c.IdleSampleEvery, false)
	if c.IdleSampleEvery > 0 && c.IdleSampleEvery < c.SampleEvery {
		v.add("Config.IdleSampleEvery is %v, shorter than Config.SampleEvery, %v: servers would be asked more often when nobody needs them; raise it, or leave it 0", c.IdleSampleEvery, c.SampleEvery)
	}
	if least := c.MaxLag + c.MaxSampleAge; c.MaxLag > 0 && c.MaxSampleAge > 0 && c.StickyWindow > 0 && c.StickyWindow < least {
		v.add("Config.StickyWindow is %v, shorter than MaxLag + MaxSampleAge, %v: a session could leave the primary for a replica that does not have its write yet; raise StickyWindow", c.StickyWindow, least)
	}
}

// lifetime reports a token lifetime after which a token could still be needed.
func (v *problems) lifetime(c Config) {
	if c.MaxLag <= 0 && c.MaxLag != Off || c.MaxSampleAge <= 0 || c.StickyWindow <= 0 {
		return // reported by itself
	}
	least := session.Lifetime(c.MaxLag, c.MaxSampleAge, c.StickyWindow)
	switch {
	case c.TokenLifetime < least:
		v.add("Config.TokenLifetime is %v, shorter than %v, what MaxLag, MaxSampleAge, StickyWindow and the clocks of several servers make of it: a token would end while only it tells what must be seen; raise it, or leave it 0", c.TokenLifetime, least)
	case c.TokenLifetime > session.MaxTokenLifetime:
		v.add("Config.TokenLifetime is %v: at most %v; what is older is in the replicas, or they are lost", c.TokenLifetime, session.MaxTokenLifetime)
	}
}

func (v *problems) pool(field string, p Pool) {
	if p.MaxOpen < 0 {
		v.add("%s.MaxOpen is %d: it must be positive (0 means the default)", field, p.MaxOpen)
	}
	if p.MaxIdle < 0 {
		v.add("%s.MaxIdle is %d: it must be positive (0 means as many as MaxOpen)", field, p.MaxIdle)
	}
	if p.MaxLifetime < 0 {
		v.add("%s.MaxLifetime is %v: it must not be negative (0 means for ever)", field, p.MaxLifetime)
	}
	if p.MaxIdleTime < 0 {
		v.add("%s.MaxIdleTime is %v: it must not be negative (0 means the default)", field, p.MaxIdleTime)
	}
}

// isNil also finds a nil pointer inside an interface, which a dialector stored
// in a variable of its own type becomes: calling it panics far from here.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	rv := reflect.ValueOf(v)
	return rv.Kind() == reflect.Pointer && rv.IsNil()
}
