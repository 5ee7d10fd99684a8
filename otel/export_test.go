package otel

// Cluster is the cluster that all tests share.
var Cluster = cluster
