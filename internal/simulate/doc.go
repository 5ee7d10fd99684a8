// Package simulate runs balancers against servers that exist on paper: requests
// arrive by chance, servers have workers and a queue, and time is a number. One seed
// gives one result, whatever machine it runs on and however busy that is.
//
// The decisions are those of [policy.Decider], the latencies those of
// [latency.Meter]: what is simulated is the servers, the network, the monitor's news
// and the application around them. The tables and plots of docs/balancing.md are made
// of it, and tests hold what is claimed there.
package simulate
