// Package frameworks shows sessions over HTTP in the routers and frameworks that Go
// applications are written with: the same shop in net/http's own terms with chi, in
// echo, in gin and in fiber. Each file has where httpsession stands in the chain, how an
// endpoint and a group of them are marked, and how a handler finds its context.
package frameworks
