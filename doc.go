// Package readsplit is a GORM plugin for read/write splitting: writes go to the
// primary, reads go to replicas, and nobody ever misses their own write.
//
//	db, err := gorm.Open(postgres.Open(primaryDSN), &gorm.Config{})
//	plugin := readsplit.New(readsplit.Config{Replicas: []readsplit.Replica{
//		{Name: "pg2", Dialector: postgres.Open(replicaDSN)},
//	}})
//	err = db.Use(plugin)
//	defer plugin.Close(ctx)
//
// From then on each statement is routed when it runs, by what it is and by what is
// known of the servers. A read goes to a replica that is proven to have applied what
// its session wrote and to be no further behind than Config.MaxLag; where nothing is
// proven, to the primary. What is not provably a read is treated as a write.
//
// # Sessions
//
// A session is whoever must see their own writes. Without any session in the code the
// whole process is one: it reads what it wrote, and everybody waits for everybody's
// writes. A session for each user or request, put into the context with
// [WithSession], waits only for its own, and for what code without a session wrote:
//
//	ctx = readsplit.WithSession(ctx, user)          // user is a *readsplit.Session
//	err = db.WithContext(ctx).Create(&order).Error  // on the primary
//	err = db.WithContext(ctx).Find(&orders).Error   // has the order, mostly from a replica
//
// [Session.Token] carries what a session must see to other processes, as a text of less
// than 200 bytes, and [Session.Join] takes it in. Over HTTP, gRPC and queues
// [github.com/readsplit/readsplit/session/httpsession], grpcsession and
// [github.com/readsplit/readsplit/session/jobs] do both.
//
// # Marks
//
// A context says what its reads ask for:
//
//   - [Fresh]: current data, from the primary
//   - [AtMost]: no older than a duration; [Stale]: as old as it may be, but with its
//     session's own writes; [AnyReplica]: whatever a replica has
//   - [UseReplica]: a replica, where Config.Default prefers the primary
//   - [Group]: the replicas of a group, such as reports
//   - [Recheck]: what a replica does not have is looked for on the primary
//   - [ReadOnly]: writes panic before anything is sent
//
// [DecisionOf] tells where a statement was served and why, [Explain] where it would be,
// [Plugin.Status] what all of them came to.
//
// # What is guaranteed
//
// After a write whose commit was acknowledged, every later read of its session sees it,
// whatever the replicas do. Other reads are never older than Config.MaxLag while the
// primary can be reached. A replica that fails costs a read no error: it is run again
// elsewhere. A write is never run again; one whose outcome nobody knows ends in
// retry.ErrOutcomeUnknown, and its session reads from the primary meanwhile. The
// primary is followed among the hosts of its DSN.
//
// Not guaranteed are: to see what other processes wrote, unless a token or a mark says
// so; what asynchronous replication loses in a failover; long results of Rows and
// Raw(..).Scan that break half-way, which end in an error; statements on the *sql.DB of
// db.DB(), of which [MarkWrite] tells.
//
// # What runs
//
// db.Use starts one goroutine for each server, which samples it (Config.SampleEvery),
// and opens one pool for each replica. [Plugin.Close] ends and joins all of it. A write
// costs no extra round trip: its position is asked for later, for all sessions
// together, when a read needs it. A [Plugin] and a [Session] may be used from several
// goroutines. What [Plugin.Status], events and pages say holds no DSN, token or bind
// value, and no password is in what the plugin logs.
//
// # Where to read on
//
// [Config] has every setting, each with its default. In the repository
// docs/README.md leads to the guides, docs/guarantees.md names the test for each
// sentence that is promised, docs/reasons.md explains every reason, and
// docs/compatibility.md says which versions are supported. Replicas that fall behind:
// [github.com/readsplit/readsplit/overload]. Which replica:
// [github.com/readsplit/readsplit/policy]. A page and JSON for people:
// [github.com/readsplit/readsplit/status]. Who listens:
// [github.com/readsplit/readsplit/observe]. Can be used alone:
// [github.com/readsplit/readsplit/readonlyguard] and, for tests on real servers,
// [github.com/readsplit/readsplit/testenv].
package readsplit
