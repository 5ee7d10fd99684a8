package testenv

import (
	"context"
	"errors"
	"slices"
)

// Cascade makes a chain of the replicas: the first one receives from the primary, and
// each other from the one before it. Undo lets all receive from the primary again. Faults
// of single replicas work as ever: what cuts off one holds back all behind it, and those
// behind one that is promoted go to its new timeline with it.
func (c *Cluster) Cascade(ctx context.Context) (Undo, error) {
	var undos []Undo
	undo := func() error {
		var errs []error
		for _, u := range slices.Backward(undos) {
			errs = append(errs, u())
		}
		return errors.Join(errs...)
	}
	replicas := c.Replicas()
	for i := 1; i < len(replicas); i++ {
		u, err := replicas[i].Follow(ctx, replicas[i-1])
		if err != nil {
			return nil, errors.Join(err, undo())
		}
		undos = append(undos, u)
	}
	return undo, nil
}
