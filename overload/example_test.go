package overload_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/readsplit/readsplit/overload"
)

// A gate with one place, which is taken.
func ExampleGate() {
	gate := overload.NewGate(1, nil)
	ctx := overload.WithPriority(context.Background(), overload.Low)
	fmt.Println(gate.Enter(ctx, overload.PriorityOf(ctx), 0))
	fmt.Println(errors.Is(gate.Enter(ctx, overload.PriorityOf(ctx), 0), overload.ErrPrimaryBusy))
	gate.Leave()
	fmt.Println(gate.Status().InUse, gate.Status().Refused)
	// Output:
	// <nil>
	// true
	// 0 1
}
