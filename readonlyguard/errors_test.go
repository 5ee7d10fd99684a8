package readonlyguard

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestErrorText(t *testing.T) {
	tests := []struct {
		err  Error
		want string
	}{
		{Error{Operation: "Save", Table: "orders", Reason: Writes},
			`readsplit: Save on table "orders" refused in a read session before anything was sent: it writes; use a context that is not marked read-only`},
		{Error{Operation: "Exec", Verb: "DELETE", Reason: Writes},
			`readsplit: Exec of DELETE refused in a read session before anything was sent: it writes; use a context that is not marked read-only`},
		{Error{Operation: "First", Table: "orders", Reason: Locks},
			`readsplit: First on table "orders" refused in a read session before anything was sent: it takes locks, which only the primary can give; ` +
				`read without the locking clause, or lock with a context that is not marked read-only`},
		{Error{Operation: "Raw", Verb: "SELECT", Reason: CallsFunctions, Functions: []string{"app.total"}},
			`readsplit: Raw of SELECT refused in a read session before anything was sent: it calls "app.total", which may write; ` +
				`if it only reads, say so with readonlyguard.AllowFunctions("app.total"), else use a context that is not marked read-only`},
		{Error{Operation: "Exec", Verb: "CALL", Reason: NotProven},
			`readsplit: Exec of CALL refused in a read session before anything was sent: it cannot be shown to be a read; use a context that is not marked read-only`},
	}
	for _, tt := range tests {
		assert.EqualError(t, &tt.err, tt.want)
		assert.ErrorIs(t, fmt.Errorf("report: %w", &tt.err), ErrReadOnly)
		assert.NotErrorIs(t, &tt.err, errors.ErrUnsupported)
	}
}

func TestReasonNames(t *testing.T) {
	assert.Equal(t, []string{"invalid", "writes", "locks", "calls_functions", "not_proven", "invalid"},
		[]string{Reason(0).String(), Writes.String(), Locks.String(), CallsFunctions.String(), NotProven.String(), Reason(9).String()})
}

func TestMethodNames(t *testing.T) {
	for function, want := range map[string]string{
		"(*DB).Create":                     "Create",
		"(*DB).CreateInBatches.func1":      "CreateInBatches",
		"(*Association).Replace":           "Association.Replace",
		"createG[...].Create":              "Create",
		"(*g[...]).Exec":                   "Exec",
		"setCreateOrUpdateG[...].Update":   "Set.Update",
		"chainG[...].Delete":               "Delete",
		"processor.Execute":                "Execute",
		"":                                 "statement",
		"function":                         "statement",
		"execG[...].FindInBatches.func1.2": "FindInBatches",
	} {
		assert.Equal(t, want, methodName(function), function)
	}
}
