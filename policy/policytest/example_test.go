package policytest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/policy/policytest"
)

func ExamplePolicy() {
	var t *testing.T // of the test function
	_ = func() { policytest.Policy(t, policy.MaxBytes(1<<20)) }
}

func ExampleBalancer() {
	var t *testing.T // of the test function
	_ = func() {
		policytest.Balancer(t, policy.LeastInFlight())
		policytest.Balancer(t, policy.Latency(), policytest.HerdsAtMost(0.4))            // not all reads of a moment on the best one
		policytest.Balancer(t, policy.LeastBehind(0, nil), policytest.WithoutFairness()) // prefers some on purpose
	}
}

func ExampleMayServe() {
	c := policytest.Random(rand.New(rand.NewPCG(1, 4)))
	got := policy.NewDecider(policy.Rules{Limits: c.Limits}).Decide(&c.Query, &c.Snapshot, c.Load, c.Now)
	fmt.Println(got.Target, got.Replica)
	for i := range c.Snapshot.Replicas {
		fmt.Println(i, policytest.MayServe(c.Limits, &c.Query, &c.Snapshot, i, c.Now))
	}
	// Output:
	// replica 2
	// 0 false
	// 1 false
	// 2 true
	// 3 false
}
