// Package policytest says what any policy and any balancer must satisfy.
//
// [Policy] and [Balancer] are conformance suites: they try an implementation on a
// thousand random but reproducible inputs, alone and inside a
// [policy.Decider], and report everything that breaks the contract in the
// comments of [policy.Policy] and [policy.Balancer]. Run the tests with -race:
// both suites call the implementation from several goroutines at once.
//
//	func TestMine(t *testing.T) {
//		policytest.Policy(t, mine.NightlyExportsOnly())
//		policytest.Balancer(t, mine.Cheapest(), policytest.WithoutFairness())
//	}
//
// [MayServe] is the promise of the core as one formula, written apart from its
// code; [Random] makes inputs for tests of one's own.
package policytest
