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
// From then on each statement is routed by what it is and by what is known of
// the servers. A read goes to a replica that is proven to have applied what its
// session wrote and to be no further behind than Config.MaxLag; when nothing is
// proven, to the primary.
//
// # Sessions
//
// A session is whoever must see their own writes. Without any session in the
// code the whole process is one: it reads what it wrote. A session per user or
// request, put into the context with [WithSession], waits only for the user's
// own writes, and its [Session.Token] carries them to other processes.
//
// # Marks
//
// A context says what its reads ask for: [Fresh], [UseReplica], [Stale],
// [AnyReplica], [AtMost], [Group]; [ReadOnly] makes writes panic.
//
// # What runs
//
// db.Use starts one goroutine per server, which sample it (Config.SampleEvery);
// [Plugin.Close] ends and joins them. A write costs no extra round trip: its
// position is asked for later, for all sessions together, when a read needs it.
//
// The package monitor says how lag and history are proven, policy how a decision
// is made, sqlclass what counts as a read, retry what may be run again;
// readonlyguard and testenv can be used alone.
package readsplit
