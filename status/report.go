package status

import (
	"time"

	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/policy"
)

// Report is what the page shows: the JSON of status.json, and of each event. Durations
// are in seconds.
type Report struct {
	At       time.Time `json:"at"`
	Headline Headline  `json:"headline"`
	// Notices are what is wrong with the page itself.
	Notices []string `json:"notices,omitempty"`
	// Routers are the plugin's own servers, with an empty name, and those of each
	// resolver.
	Routers     []Router     `json:"routers"`
	Connections []Connection `json:"connections,omitempty"`
	Decisions   []Decision   `json:"decisions,omitempty"`
	Changes     []Change     `json:"changes,omitempty"`
	// MayOperate says that the request was authorised to take replicas out of service.
	MayOperate bool `json:"may_operate,omitempty"`
	// Again says that somebody has just changed something: rates, and History, are those
	// of the report before, which is less than Options.Every older.
	Again bool `json:"again,omitempty"`
}

// Router is one primary with its replicas.
type Router struct {
	Name    string   `json:"name"`
	Servers []Server `json:"servers"` // the primary first
	Reads   Reads    `json:"reads"`
	// MostlyPrimary says that for some seconds most reads have gone to the primary,
	// and not because somebody wants that.
	MostlyPrimary bool     `json:"mostly_primary,omitempty"`
	Reasons       []Reason `json:"reasons"` // the most frequent now first
	// Retries are by cause, Conflicts by what a read stood in the way of.
	Retries         map[string]uint64 `json:"retries,omitempty"`
	Conflicts       map[string]uint64 `json:"conflicts,omitempty"`
	KeepConflicting int               `json:"keep_conflicting,omitempty"`
	Captures        uint64            `json:"captures"`
	UnsureWrites    uint64            `json:"unsure_writes"`
	Tokens          map[string]uint64 `json:"tokens,omitempty"`
	Traffic         *Traffic          `json:"traffic,omitempty"`
	Budget          *Budget           `json:"budget,omitempty"`
	// Primary is who the primary is among several hosts, and what is known of them.
	Election *Election `json:"election,omitempty"`
	// Discovery is what finds replicas, where that is configured.
	Discovery *Discovery `json:"discovery,omitempty"`
}

// Server is one server now.
type Server struct {
	Name    string `json:"name"`
	Host    string `json:"host,omitempty"`
	Role    string `json:"role"`
	Primary bool   `json:"primary,omitempty"`
	// State is a word or two for people: up, down, behind, paused, cut off, drained,
	// ejected, balanced, writable, unproven, unknown; primary for a replica that has
	// become the primary that is followed.
	State string `json:"state"`
	Level Level  `json:"level"`
	// Advice is what to do about State; empty where all is well.
	Advice   string   `json:"advice,omitempty"`
	Position string   `json:"position,omitempty"`
	Lag      *float64 `json:"lag_seconds,omitempty"` // an upper bound; nil: there is none
	Behind   uint64   `json:"behind_bytes"`
	CatchUp  float64  `json:"catch_up_seconds,omitempty"`
	// Reads is how many it served, PerSecond how many it serves now.
	Reads     uint64  `json:"reads"`
	PerSecond float64 `json:"reads_per_second"`
	InFlight  int64   `json:"in_flight"`
	// Conflicts are what the replica itself has counted, see
	// readsplit.ServerStatus.Conflicts.
	Conflicts map[string]uint64 `json:"conflicts,omitempty"`
	// Pool is the use of all pools to it, Groups that of the pools of groups alone.
	Pool   Pool            `json:"pool"`
	Groups map[string]Pool `json:"groups,omitempty"`
	// Reserved: it serves reads of its groups alone.
	Reserved bool   `json:"reserved,omitempty"`
	Sampled  string `json:"sampled,omitempty"`
}

// Pool is the use of connection pools to one server.
type Pool struct {
	Open  int   `json:"open"`
	InUse int   `json:"in_use"`
	Idle  int   `json:"idle"`
	Max   int   `json:"max"` // 0: no limit
	Waits int64 `json:"waits"`
}

// Reads is who serves reads outside of transactions.
type Reads struct {
	Replicas uint64 `json:"replicas"`
	Primary  uint64 `json:"primary"`
	// Share is that of replicas since the start, ShareNow over the last seconds; nil:
	// there were no reads.
	Share     *float64 `json:"replica_share,omitempty"`
	ShareNow  *float64 `json:"replica_share_now,omitempty"`
	PerSecond float64  `json:"per_second"`
}

// Reason is how often statements went to replicas, or to the primary, for one reason.
type Reason struct {
	Reason    policy.Reason `json:"reason"`
	Count     uint64        `json:"count"`
	PerSecond float64       `json:"per_second"`
	// Replica says that replicas have run them, else the primary.
	Replica bool `json:"replica,omitempty"`
	// Refused says that nobody has: the reads failed with ErrPrimaryLost, ErrPrimaryBusy
	// or groups.ErrRefused.
	Refused bool `json:"refused,omitempty"`
	// Because is what the reason means (policy.Reason.Because), and Do what to do where
	// it is frequent (policy.Reason.Remedy); empty: nothing.
	Because string `json:"because"`
	Do      string `json:"do,omitempty"`
}

// Traffic is what operators have set, where that is anything.
type Traffic struct {
	KillSwitch bool   `json:"kill_switch"`
	Percent    int    `json:"percent"`
	Shadow     bool   `json:"shadow"`
	Stale      uint64 `json:"shadow_stale,omitempty"`
}

// Budget is what Config.PrimaryBudget does, where it is set.
type Budget struct {
	Reads       int    `json:"reads"`
	InUse       int    `json:"in_use"`
	Waiting     int    `json:"waiting"`
	Refused     uint64 `json:"refused"`
	ServedStale uint64 `json:"served_stale"`
}

// Election is the primary among several hosts.
type Election struct {
	State    string `json:"state"`
	Primary  string `json:"primary"`
	Timeline uint32 `json:"timeline"`
	Moves    uint64 `json:"moves"`
	Hosts    []Host `json:"hosts"`
}

// Host is one of the hosts that may be the primary.
type Host struct {
	Name string `json:"name"`
	// State is primary, standby, silent, refused (a primary of an older timeline) or
	// foreign (of another database cluster).
	State string `json:"state"`
}

// Connection is one server's limit, see overload.Connections.
type Connection struct {
	Servers   []string `json:"servers"`
	Needed    int      `json:"needed"`
	Available int      `json:"available"`
	// Unlimited are the pools without a limit, which Needed cannot count.
	Unlimited []string `json:"unlimited,omitempty"`
}

// Decision is an observe.Decision for people.
type Decision struct {
	At       time.Time     `json:"at"`
	Router   string        `json:"router,omitempty"`
	Server   string        `json:"server"` // empty: the read was refused
	Refused  bool          `json:"refused,omitempty"`
	Reason   policy.Reason `json:"reason"`
	Attempts int           `json:"attempts"`
	Begins   bool          `json:"begins_transaction,omitempty"`
	Waited   float64       `json:"waited_seconds,omitempty"`
}

// Change is an observe.Change for people.
type Change struct {
	At     time.Time `json:"at"`
	Router string    `json:"router,omitempty"`
	Server string    `json:"server"`
	State  string    `json:"state"`
	Bad    bool      `json:"bad,omitempty"` // bad news
	Means  string    `json:"means,omitempty"`
	Why    string    `json:"why,omitempty"`
}

// mostShown bounds what is sent of the ring each time.
const mostShown = 50

func decisions(all []observe.Decision) (shown []Decision) {
	for _, d := range all[:min(len(all), mostShown)] {
		shown = append(shown, Decision{At: d.At, Router: d.Resolver, Server: d.Server, Refused: d.Refused, Reason: d.Reason, Attempts: d.Attempts, Begins: d.Begins, Waited: d.Waited.Seconds()})
	}
	return shown
}

func changes(all []observe.Change) (shown []Change) {
	for _, c := range all[:min(len(all), mostShown)] {
		one := Change{At: c.At, Router: c.Resolver, Server: c.Server, State: c.State, Bad: c.Bad(), Means: c.Meaning()}
		if c.Err != nil {
			one.Why = why(c.Err)
		}
		shown = append(shown, one)
	}
	return shown
}

func connections(all []overload.Connections) (shown []Connection) {
	for _, c := range all {
		shown = append(shown, Connection{Servers: c.Servers, Needed: c.Needed, Available: c.Available, Unlimited: c.Unlimited()})
	}
	return shown
}
