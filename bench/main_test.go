package main

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// shared are the servers of all tests here.
var shared *servers

func TestMain(m *testing.M) {
	os.Exit(func() int {
		ctx := context.Background()
		s, err := start(ctx, "")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		shared = s
		code := m.Run()
		if err := s.close(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}())
}
