// Package grpcsession carries what a user has written from one gRPC call to the
// next: a call that reads sees what an earlier one wrote, whichever processes served
// the two.
//
//	server := grpc.NewServer(grpcsession.ServerOptions()...)
//	conn, err := grpc.NewClient(target, append(grpcsession.DialOptions(), credentials)...)
//
// A client sends the token of the session in its context, in the metadata key [Key].
// The server gives the call a session that has joined it, and answers with that
// session's token when something was written; the client's session joins it, also when
// the call failed. Service code uses readsplit's sessions, if at all, and knows nothing
// of replicas.
//
// The package starts no goroutine.
package grpcsession
