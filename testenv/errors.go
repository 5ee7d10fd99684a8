package testenv

import (
	"errors"
	"fmt"
)

var errClosed = errors.New("the cluster is closed")

// public is the form in which an error leaves the package.
func public(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("readsplit: testenv: %w", err)
}
