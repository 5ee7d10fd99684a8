package connstring_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/internal/connstring"
)

func TestCheckIntent(t *testing.T) {
	for _, tt := range []struct {
		dsn     string
		replica bool
		want    []string // in the error; none: there is none
	}{
		{"sqlserver://u:secret@ag2?database=shop&ApplicationIntent=ReadOnly", true, nil},
		{"sqlserver://u:secret@ag2?database=shop&applicationintent=ReadOnly", true, nil}, // keys come in any case
		{"server=ag2;initial catalog=shop;ApplicationIntent=ReadOnly;password=\"a;b\"", true, nil},
		{"odbc:server=ag2;database=shop;ApplicationIntent=ReadOnly;pwd={a;b}", true, nil},
		{"sqlserver://u:secret@ag1?database=shop", false, nil},
		{"sqlserver://u:secret@ag1?database=shop&ApplicationIntent=ReadWrite", false, nil},
		{"sqlserver://u:secret@ag2?database=shop&ApplicationIntent=readonly", true, []string{`"readonly"`, "exactly this spelling"}},
		{"sqlserver://u:secret@ag2?database=shop&ApplicationIntent=READONLY", true, []string{`"READONLY"`}},
		{"server=ag2;database=shop;ApplicationIntent=Read Only", true, []string{`"Read Only"`}},
		{"sqlserver://u:secret@ag1?database=shop&ApplicationIntent=readonly", false, []string{`"readonly"`}},
		{"sqlserver://u:secret@ag2?database=shop", true, []string{"does not ask for a replica"}},
		{"sqlserver://u:secret@ag2?ApplicationIntent=ReadOnly", true, []string{"names no database"}},
		{"sqlserver://u:secret@ag2?ApplicationIntent=readonly", true, []string{`"readonly"`, "names no database"}},
		{"sqlserver://u:secret@ag1?database=shop&ApplicationIntent=ReadOnly", false, []string{"it is the primary"}},
		{"nothing to read here", true, nil},
	} {
		err := connstring.CheckIntent(tt.dsn, tt.replica)
		if tt.want == nil {
			require.NoError(t, err, tt.dsn)
			continue
		}
		for _, want := range tt.want {
			require.ErrorContains(t, err, want, tt.dsn)
		}
		assert.NotContains(t, err.Error(), "secret")
	}
}
