package orderlab

import (
	"context"
	"errors"
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCommand(t *testing.T) {
	ended := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	never := func(context.Context) error {
		assert.Fail(t, "it ran")
		return nil
	}
	assert.Equal(t, 0, Command(nil, ended(nil)))
	assert.Equal(t, 1, Command(nil, ended(errors.New("a lab that ends with an error"))))
	assert.Equal(t, 0, Command(flag.ErrHelp, never))
	assert.Equal(t, 2, Command(errors.New("wrong"), never))
}
