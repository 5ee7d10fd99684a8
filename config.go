package readsplit

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/discover"
	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/session"
)

// Off is the value that turns a duration of [Config] off where its comment says
// that this is possible.
const Off time.Duration = -1

// Config says which replicas there are and what may be expected of them. The
// zero value of every field is right; a Config that sets only Replicas keeps the
// promise of the package. [New] takes it as it is: its slices, maps and pointers must not
// be changed afterwards.
type Config struct {
	// Replicas are the servers that reads may go to. Without any, everything
	// goes to the primary. Defaults to none.
	Replicas []Replica

	// Discover finds replicas beside Replicas while the application runs, and takes out
	// those that are gone; see docs/discovery.md. They are no hosts that FollowPrimary
	// could follow: name those in the primary's DSN, too. Defaults to nobody.
	Discover discover.Config

	// Discovered is what replicas that Discover finds are like: Zone, Weight and Groups
	// where the source says nothing else, Pool, AllowPrimaryAsReplica. Its Dialector has
	// the DSN in which host and port are exchanged; without one that is Config.Primary,
	// or what gorm.Open got. Name is not used.
	Discovered Replica

	// DiscoverOpen opens a server that Discover has found where the DSN of Discovered
	// does not do. A pool that the dialector brings along (postgres.Config.Conn) is never
	// closed. Defaults to exchanging host and port.
	DiscoverOpen func(discover.Server) gorm.Dialector

	// Primary opens the server that writes go to, as for gorm.Open; a DSN may name
	// several hosts, see docs/failover.md. Defaults to the
	// database that the gorm.DB was opened with, whose pool stays the
	// application's; db.DB() returns that one in any case.
	Primary gorm.Dialector

	// FollowPrimary makes the replicas candidates for the primary: when one of them
	// was promoted, writes go there, and nothing goes to the server that it took over
	// from. A primary whose DSN names several hosts is followed among them without
	// this. The replicas of a resolver are candidates for its own primary. See
	// docs/failover.md. Defaults to false.
	FollowPrimary bool

	// Resolvers keep some tables on servers of their own. Defaults to none.
	Resolvers []Resolver

	// Default says where reads go whose context asks for nothing.
	// Defaults to PreferReplica.
	Default Preference

	// MaxLag is how old what a read sees may be at most, for reads that do not
	// ask for anything else. It is judged at the moment of the decision by a
	// sound upper bound. Off lifts it. Defaults to 2 s.
	MaxLag time.Duration

	// SampleEvery is the time between two samples of one server, jittered by a
	// tenth. Defaults to 200 ms.
	SampleEvery time.Duration

	// IdleSampleEvery is the time between two samples of one server while this process
	// runs no statement, from 3 s after the last one on. Where it is longer than the
	// default, the first read after such a silence may find nothing that is recent enough:
	// it then asks all servers at once, waits for one replica as long as MaxWait says, and
	// goes to the primary if none answers in time; and what Status and metrics say of lag
	// grows as old. As SampleEvery: servers are sampled as ever. At least SampleEvery.
	// See docs/waiting.md. Defaults to 4/5 of MaxSampleAge, at most half of MaxLag: as
	// seldom as no read notices; 800 ms.
	IdleSampleEvery time.Duration

	// MaxSampleAge is how old the newest sample of a replica may be; older news
	// is no news. At least SampleEvery. Defaults to 1 s.
	MaxSampleAge time.Duration

	// SampleTimeout is how long one question to one server may take. Two
	// questions that fail in a row mean that the server is down, and reads in
	// flight there are broken off and run elsewhere. Defaults to 500 ms.
	SampleTimeout time.Duration

	// MaxWait is how long a read waits at most for a replica to reach its
	// session's last write before it goes to the primary. Off never waits.
	// Defaults to 5 ms.
	MaxWait time.Duration

	// StickyWindow is how long reads stay on the primary where no position says
	// when they may leave it: after a write whose outcome is unknown, a statement
	// on a connection of the application's own, a token that is not to be
	// trusted. At least MaxLag + MaxSampleAge. Defaults to 5 s, or to that sum where
	// it is longer.
	StickyWindow time.Duration

	// PrimaryLost says what happens to reads when the primary cannot be reached,
	// so that nobody's staleness can be bounded. Defaults to ServeReplicas.
	PrimaryLost LostPolicy

	// NotFound says what happens when a lookup of a single row (First, Take, Last,
	// Find into a struct) finds nothing on a replica, and when a batch of
	// FindInBatches comes back short, which ends the list: policy.RecheckOnPrimary
	// looks once more there. Raw(..).Scan, Row and Rows are not looked at. Defaults
	// to policy.NotFoundStands.
	NotFound policy.NotFound

	// Balancer chooses among the replicas that are right for a read. With more than
	// about ten processes, or servers that are not alike, policy.Latency() serves
	// better (docs/balancing.md). Defaults to policy.LeastInFlight().
	Balancer policy.Balancer

	// Policies are further rules that a replica must pass, beside the ones that
	// always hold. Defaults to none.
	Policies []policy.Policy

	// Zone is where this process runs. Replicas of the same Zone are preferred
	// while any of them is right for a read. Defaults to no preference.
	Zone string

	// Spill says when reads leave Zone although it has a replica for them: how many run
	// there, how long they take, how far its replicas are behind. Defaults to 32 reads
	// in flight on each replica, and to 10 ms where another zone is faster.
	Spill policy.Spill

	// Pool sizes the connection pools of replicas that do not say it themselves.
	Pool Pool

	// PrimaryPool sizes the connection pools of primaries that the plugin opens:
	// of Primary, and of resolvers that do not say it themselves.
	PrimaryPool Pool

	// Retry bounds how a read that failed on a replica is run again.
	// Defaults to 3 attempts with 5 ms to 100 ms between them.
	Retry retry.Backoff

	// Health says when a replica that answers its probes, and on which reads fail all
	// the same, is left alone, and how slowly it comes back. Defaults to 3 strikes,
	// 1 s to 30 s, and 10 s.
	Health monitor.Health

	// Guarantee is what the reads of a session (WithSession) may rely on beside its
	// own writes: session.MonotonicReads keeps them from going backwards, whichever
	// server they run on, also after its token has gone to another process, and
	// session.Causal lets whoever joins its token see all that it had learned. A
	// session's reads then stay on one replica while that is right for them, and a
	// read elsewhere costs what a read after a write does; see docs/sessions.md.
	// [Session.SetGuarantee] asks for another level. AnyReplica and reads without a
	// session are not held to any. Defaults to session.ReadYourWrites.
	Guarantee session.Guarantee

	// TokenLifetime is how long a token of a session counts where it cannot be
	// compared, and how long carriers keep it. Longer than the default it is of use
	// where reads do without MaxLag (Stale), and where other processes have a longer
	// one. At least the default, at most session.MaxTokenLifetime. Defaults to
	// session.Lifetime(MaxLag, MaxSampleAge, StickyWindow): 5 min 6 s, or 30 days
	// where MaxLag is Off.
	TokenLifetime time.Duration

	// Traffic is a kill switch, the percentage of reads that may use replicas, and
	// the shadow mode; [Plugin.SetTraffic] changes it while the plugin is in use.
	// Defaults to none of them.
	Traffic policy.Traffic

	// AttemptTimeout is how long one run of a read on a replica may take until its
	// first row, the wait for a connection included; then it is broken off there and
	// run elsewhere. The last run, on the primary, is bounded by the caller's context
	// alone, and so are statements inside transactions. Reads that take long for good
	// reasons need it longer, or Off. Defaults to no limit.
	AttemptTimeout time.Duration

	// Groups says what named sets of replicas are for: which reads are meant for each by
	// their tables or by an estimate of their caller, how many connections they may use,
	// and whether they fall on the primary, on another replica, or fail, where none of
	// its replicas is right for them; see docs/groups.md. A group needs no entry:
	// Replica.Groups and the mark [Group] are enough, and the primary serves what it
	// cannot. Defaults to none.
	Groups []groups.Group

	// ConflictGroup names the replicas that are meant for reports. A statement that
	// replay keeps cancelling starts there, or on the primary where none of them is
	// right for it, instead of on any replica; see docs/retries.md. Defaults to the
	// primary.
	ConflictGroup string

	// ReadFunctions are functions of the database that read and change nothing,
	// whatever its catalogue says of them, as names are written in SQL: total,
	// app.total, "My Schema"."Total". Functions that the catalogue calls stable or
	// immutable need not be named; any other sends its statement to the primary.
	// Defaults to none.
	ReadFunctions []string

	// WriteFunctions are functions that do more than reading, whatever the catalogue
	// says of them. They win over ReadFunctions. Defaults to none.
	WriteFunctions []string

	// PrimaryBudget bounds how many reads that wanted a replica run on a primary at
	// once, in this process: on each primary that the configuration names. When all
	// replicas fall behind, the primary gets that many reads at a time, and the
	// others wait, are served stale or fail, as it says. Writes and reads that belong
	// on the primary are never bounded. Defaults to no bound.
	PrimaryBudget overload.Budget

	// Instances is how many processes with this configuration share the servers, for
	// the check of their connection limits at start. Defaults to 1.
	Instances int

	// Settings returns what is set on a connection while the statements of a
	// context run there, by name (app.tenant, search_path, TimeZone, role), on the
	// primary as on a replica; where it returns nothing, nothing is. A policy of
	// row-level security that looks at a setting so never shows one tenant the rows
	// of another. A transaction keeps the settings of the context that it began
	// with. An error fails the statement.
	//
	// It costs a round trip on a replica when a connection changes hands between
	// two contexts that differ, and two for each statement or transaction on the
	// primary, whose connections go back to the application's pool as they came.
	// What the application does on connections of its own (db.DB(), Connection) is
	// left alone. After a reset PostgreSQL shows a setting of the application's own
	// (app.tenant) as an empty text, and as NULL only where it never was set: write
	// policies with nullif(current_setting('app.tenant', true), ''). Defaults to none.
	Settings func(ctx context.Context) (map[string]string, error)

	// TokenKeys sign session tokens with HMAC-SHA-256: the first signs, all
	// verify. Each has at least 16 bytes. Without keys a token carries a checksum
	// only: it is safe against accidents, not against forgery. Defaults to none.
	TokenKeys [][]byte

	// Service is under which name this application's tokens travel beside those of
	// others: give each application with keys or databases of its own another name,
	// and a request that passes through several carries what it must see in each. At
	// most 32 letters, digits, dots, dashes and underscores, and the same in all
	// plugins of a process. A name may be given later, but not changed or taken away,
	// or tokens under the old one count for nothing. Defaults to none.
	Service string

	// GuardErrors makes a write through a read session (see ReadOnly) an error of
	// the statement instead of a panic. Defaults to false.
	GuardErrors bool

	// Observers are told what the plugin does: each is an implementation of one or more
	// of the interfaces of package observe. Defaults to none, which costs nothing.
	Observers []any

	// LogServers adds where a statement was served, and why, as a comment to the text
	// that GORM's logger prints. No server gets to see it. Defaults to false.
	LogServers bool

	// ForbidServerWait keeps the plugin from having a replica of PostgreSQL 19 or later
	// say by itself when it has replayed what a read waits for (WAIT FOR LSN), which takes
	// one more connection to it. The replica is then asked again and again while somebody
	// waits, as older ones are. Defaults to false.
	ForbidServerWait bool

	// SQLServer says how positions are had on SQL Server, see docs/sqlserver.md. Its zero
	// value reads them from the views of the availability group.
	SQLServer lsn.SQLServer

	// ForbidNudge keeps the plugin from committing a message of about 100 bytes
	// on an idle primary, at most once a second, when that is the only way to
	// prove that a replica is not behind. Defaults to false.
	ForbidNudge bool
}

// Replica is one server that reads may go to.
type Replica struct {
	// Name is how the server appears in decisions, logs and metrics. Required,
	// and unique among the replicas.
	Name string
	// Dialector opens the server, as for gorm.Open. Required. It is used to make
	// connections and for nothing else: the plugin pools them itself.
	Dialector gorm.Dialector
	// Zone is where the server stands, see Config.Zone. Defaults to none.
	Zone string
	// Weight is the share of reads relative to the other replicas, from 1 to
	// policy.MaxWeight. Defaults to 1.
	Weight int
	// Groups are the classes of work that may ask for this server with Group, or are
	// sent here by Config.Groups. Each has a connection pool of its own here, of
	// Group.Pool or else of the size of Pool. Defaults to none.
	Groups []string
	// Reserved keeps the server for the reads of its Groups: no other read goes there,
	// not even while the primary is lost. Defaults to false: it serves every read.
	Reserved bool
	// Logical says that the server is fed by logical replication: a database cluster of
	// its own, which no position compares with the primary's. Only reads that are meant
	// for one of its Groups and ask for nothing more go there: AnyReplica, and Stale as
	// long as their session has written nothing. Nothing is ever written there. Defaults
	// to false.
	Logical bool
	// AllowPrimaryAsReplica accepts a server that is not in recovery: for
	// development with one server, and for a primary that is to serve reads by its
	// Weight. Without it, such a server is warned about and
	// never read from. Defaults to false.
	AllowPrimaryAsReplica bool
	// Balanced says that the name leads to several servers: a Kubernetes -ro service,
	// HAProxy, a managed reader endpoint, a pooler. A read that asks for something (its
	// session's writes, MaxLag) then finds out on its own connection what the server
	// there shows, and goes to another connection, and to the primary at last, where
	// that is too little; see docs/operations.md. Without it such a name is found out
	// by what answers there. Defaults to false.
	Balanced bool
	// StatedLag is how far behind the primary this server is at most, as whoever runs it
	// states it; for servers that do not tell their replay position, as those that share
	// the primary's storage (Aurora), or whose role may not ask for it. Nothing proves
	// it: reads are as old as it, and for Config.StickyWindow after a write its session
	// reads from the primary. Where the server tells its position it counts for nothing.
	// Such a server is used for AnyReplica and Stale alone without it; see
	// docs/operations.md. Defaults to 0, nothing stated.
	StatedLag time.Duration
	// Pool sizes this server's connection pool. Defaults to Config.Pool.
	Pool Pool
}

// Preference is where reads go whose context asks for nothing.
type Preference uint8

// Preferences.
const (
	PreferReplica Preference = iota // reads go to replicas where the rules allow it
	PreferPrimary                   // reads go to the primary unless UseReplica, Stale, AnyReplica, AtMost or Group ask for a replica
)

// LostPolicy is what happens to reads when the primary cannot be reached.
type LostPolicy uint8

// Lost policies.
const (
	ServeReplicas LostPolicy = iota // replicas serve without a bound on staleness; a session's own writes still hold
	Refuse                          // such reads fail with ErrPrimaryLost
)
