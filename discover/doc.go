// Package discover finds replicas, and follows what comes and goes.
//
// A [Source] says which servers there are now: names that are written down
// ([Static]), the hosts of a DSN ([Hosts]), the addresses of a DNS name ([DNS]), SRV
// records ([SRV]), the standbys that a primary streams to ([Standbys]), or whatever
// else knows them ([Func]: Consul, the endpoints of Kubernetes, Patroni). readsplit
// asks it with Config.Discover; elsewhere a [Watch] does, over whatever adds and
// removes servers.
//
// What a source says is news, and no order: an answer that fails changes nothing, one
// that is empty is mostly a mistake of the source, and a server that is missing once
// is back in the next answer. So a server is taken out when it has been missing for
// [Config.Grace], and when nobody is left in the answer, for [Config.EmptyGrace].
// Whether a server can be read from is not a question for the source: the monitor
// asks the server itself, several times a second.
//
// The package opens no database. A Watch has one goroutine, and one more for each
// server that it takes out, until nothing runs there any more; [Watch.Close] joins
// them.
package discover
