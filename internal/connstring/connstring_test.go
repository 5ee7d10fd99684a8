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
		{"nothing to read here", true, []string{"does not ask for a replica", "names no database"}}, // the driver refuses nothing
		{"", true, []string{"names no database"}},
		{"server=ag2;database=shop;Application Intent=ReadOnly", true, nil},
		{"server=ag2;database=shop;Application Intent=readonly", true, []string{`"readonly"`}},
		{"server=ag2;database=shop;encrypt;ApplicationIntent=readonly", true, []string{`"readonly"`}},
		{"server=ag2;database=shop;encrypt;ApplicationIntent=ReadOnly", false, []string{"it is the primary"}},
		{"server=ag2;database=shop;ApplicationIntent=readonly;ApplicationIntent=ReadOnly", true, nil}, // the last one counts
		{"server=ag2;password=a\"b;database=shop;ApplicationIntent=ReadOnly", true, []string{"does not ask for a replica", "names no database"}},
		{"server=ag2;password=a\"b;c\"d;database=shop;ApplicationIntent=ReadOnly", true, nil},
		{"server=ag2;database=shop;ApplicationIntent=\"ReadOnly;password=secret", true, []string{`".."`}},
		{"server=ag2;database=shop;ApplicationIntent=ReadOnly\";password=secret", true, []string{`"ReadOnly.."`}},
		{"odbc:server=ag2;database=shop;encrypt;ApplicationIntent=readonly", true, []string{`"readonly"`}},
		{"odbc:server=ag2;initial catalog=shop;ApplicationIntent=ReadOnly", true, []string{"names no database"}},
		{"odbc:server=ag2;database=shop;Application Intent=ReadOnly", true, []string{"does not ask for a replica"}},
		{"odbc:server=ag2;database=shop;ApplicationIntent={ReadOnly} ", true, nil},
		{"odbc:server=ag2;database=shop;ApplicationIntent={ReadOnly", true, nil}, // refused by the driver
		{"sqlserver://u:secret@ag2?database=shop&ApplicationIntent=Read%4fnly", true, nil},
		{"sqlserver://u:secret@ag2?database=shop&ApplicationIntent=ReadOnly&applicationintent=readonly", true, nil}, // refused by the driver
		{"sqlserver://u:secret@ag2/shop?ApplicationIntent=ReadOnly", true, []string{"names no database"}},           // that is an instance
		{"SQLServer://u:secret@ag2?database=shop&ApplicationIntent=ReadOnly", true, []string{"does not ask for a replica"}},
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
