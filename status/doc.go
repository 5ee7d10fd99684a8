// Package status is a page, and the same as JSON, for whoever wants to see at a glance
// which replica is behind, what share of the reads replicas serve, and why the other
// reads go to the primary. It is mounted like net/http/pprof:
//
//	ring := observe.NewRing(200)
//	plugin := readsplit.New(readsplit.Config{Observers: []any{ring}, ...})
//	page, err := status.New(plugin, status.Options{Ring: ring})
//	mux.Handle("/debug/readsplit/", page)
//
// Under the path that it is mounted at it serves the page itself, status.json, and
// events, a stream of server-sent events. It has no external asset, and shows no DSN,
// token or bind value. It can change nothing unless Options.Authorize says who may.
package status
