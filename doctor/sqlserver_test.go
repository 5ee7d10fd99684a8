package doctor

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type sqlServerCase struct {
	name, primary, replica string
	want                   string
}

func (c sqlServerCase) topology() Topology {
	return Topology{Primary: Server{"primary", c.primary}, Replicas: []Server{{"ag2", c.replica}}}
}

const goodPrimary = "sqlserver://shop:hidden@ag1:1433?database=shop"

var sqlServerCases = []sqlServerCase{
	{"right", goodPrimary, "sqlserver://shop:hidden@ag2:1433?database=shop&ApplicationIntent=ReadOnly", ""},
	{"right, by ADO", "server=ag1;user id=shop;password=hidden;database=shop", "server=ag2; Initial Catalog=shop ;password=\"a;b=c\"\"\"; applicationintent = ReadOnly ;", ""},
	{"right, by ODBC", "odbc:server=ag1;pwd={hid;den}};};database=shop", "odbc:server=ag2;database={shop};ApplicationIntent={ReadOnly}", ""},
	{"lower case", goodPrimary, "sqlserver://shop@ag2?database=shop&ApplicationIntent=readonly",
		`problem intent-misspelt ag2: ApplicationIntent is "readonly", which the driver takes for no intent.`},
	{"hyphen", goodPrimary, "server=ag2;database=shop;applicationintent=Read-Only", `problem intent-misspelt ag2: ApplicationIntent is "Read-Only"`},
	{"key with a blank", goodPrimary, "odbc:server=ag2;database=shop;application intent=ReadOnly", `problem intent-misspelt ag2: It has a key "application intent", which the driver does not know.`},
	{"no intent", goodPrimary, "server=ag2;database=shop", "warning intent-missing ag2: has no ApplicationIntent"},
	{"intent to write", goodPrimary, "server=ag2;database=shop;ApplicationIntent=ReadWrite", "warning intent-missing ag2: says ApplicationIntent=ReadWrite"},
	{"intent of the primary", goodPrimary + "&applicationintent=ReadOnly", "server=ag2;database=shop;ApplicationIntent=ReadOnly", "problem intent-on-primary primary"},
	{"misspelt on the primary", goodPrimary + "&applicationintent=Readwritten", "server=ag2;database=shop;ApplicationIntent=ReadOnly", "problem intent-misspelt primary"},
	{"no database", goodPrimary, "sqlserver://shop@ag2?ApplicationIntent=ReadOnly",
		"problem database-not-named ag2: the driver refuses ApplicationIntent=ReadOnly without one"},
	{"no database, no intent", "server=ag1", "server=ag2;database=;applicationintent=ReadOnly", "problem database-not-named ag2; warning database-not-named primary: the login's default"},
	{"unreadable URL", goodPrimary, "sqlserver://shop:hid/den@ag2:x?database=shop", "problem dsn-invalid ag2"},
	{"key twice", goodPrimary, "sqlserver://ag2?database=a&database=b", "problem dsn-invalid ag2"},
	{"open quote", goodPrimary, `server=ag2;password="hidden;database=shop`, "problem dsn-invalid ag2"},
	{"behind a quote", goodPrimary, `server=ag2;password="hid"den;database=shop`, "problem dsn-invalid ag2"},
	{"no pairs", goodPrimary, "ag2;database", "problem dsn-invalid ag2"},
}

func TestSQLServerByConnectionStrings(t *testing.T) {
	for _, c := range sqlServerCases {
		t.Run(c.name, func(t *testing.T) {
			report, err := Examine(context.Background(), c.topology())
			require.NoError(t, err)
			want := c.want
			if want != "" {
				want += "; "
			}
			if want == "" || report.Worst() > Notice {
				want += "notice servers-not-asked"
			}
			compare(t, want, report.Findings)
			require.Len(t, report.Servers, 2)
			assert.Equal(t, "ag1", strings.TrimSuffix(report.Servers[0].Address, ":1433"))
			for _, f := range report.Findings {
				assert.NotContains(t, f.What+f.Remedy, "hidden")
			}
		})
	}
}

func TestWhoseDSNItIs(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://pg1/shop?options=a;b":                 "PostgreSQL",
		"host=pg1 dbname=shop":                            "PostgreSQL",
		"sqlserver://ag1":                                 "SQL Server",
		"server=ag1;database=shop":                        "SQL Server",
		"odbc:server=ag1":                                 "SQL Server",
		"service=shop":                                    "PostgreSQL",
		"host=pg1 user=shop password=a;b":                 "PostgreSQL",
		"host=pg1 user=shop password='a;b' dbname=shop":   "PostgreSQL",
		"user=shop password='a;server=b' dbname=shop":     "PostgreSQL",
		"password=a;b user=shop host = pg1":               "PostgreSQL",
		"user=sa;password=host;server=ag1; database=shop": "SQL Server",
	} {
		assert.Equal(t, want, engineOf(dsn).name(), dsn)
	}
	_, findings := kindOf(Topology{Primary: Server{DSN: "host=pg1"}, Replicas: []Server{{"ag2", "sqlserver://ag2"}, {"pg2", "host=pg2"}}})
	compare(t, "problem kinds-differ ag2: The DSN is one of SQL Server, and the primary's is one of PostgreSQL.", findings)
}
