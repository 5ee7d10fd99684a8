package doctor

import (
	"context"
	"regexp"
	"strings"
	"sync"

	"github.com/readsplit/readsplit/internal/connstring"
)

// sqlServer asks servers of SQL Server, where its driver is in the program, and judges
// their connection strings.
type sqlServer struct{}

func (sqlServer) name() string { return "SQL Server" }

// speaks knows them by their form: a URL of their own, or pairs with semicolons.
func (sqlServer) speaks(dsn string) bool {
	if strings.HasPrefix(dsn, "sqlserver://") || strings.HasPrefix(dsn, "odbc:") {
		return true
	}
	if strings.Contains(dsn, "://") {
		return false
	}
	if ofPostgreSQL.MatchString(dsn) {
		return false // a semicolon there belongs to a password
	}
	key, _, _ := strings.Cut(dsn, "=")
	key = strings.ToLower(strings.TrimSpace(key))
	return strings.Contains(dsn, ";") || key == "server" || connstring.Synonyms[key] == "server"
}

// ofPostgreSQL finds a key that a DSN of PostgreSQL has, and a connection string of SQL
// Server has not.
var ofPostgreSQL = regexp.MustCompile(`(?i)(^|\s)(host|hostaddr|dbname|service|passfile|ssl[a-z]+|application_name|connect_timeout|target_session_attrs)\s*=`)

func (e sqlServer) examine(ctx context.Context, t Topology) ([]Examined, []Finding) {
	v := &sqlView{Topology: t}
	var findings []Finding
	examined := make([]Examined, 0, 1+len(t.Replicas))
	of := map[*sqlFacts]int{}
	for i, s := range append([]Server{t.Primary}, t.Replicas...) {
		x := Examined{Name: s.Name, Declared: "replica"}
		if i == 0 {
			x.Declared = "primary"
		}
		if e.speaks(s.DSN) {
			p, ok := connstring.SQLServer(s.DSN)
			ok = ok && !connstring.Doubtful(s.DSN)
			x.Answered, x.Address = ok && !hasDriver(), p["server"]
			if ok {
				findings = append(findings, judgeSQLServer(s.Name, i == 0, p)...)
				f := &sqlFacts{name: s.Name, primary: i == 0, dsn: s.DSN, pairs: p, timeout: t.Timeout}
				of[f] = i
				v.all = append(v.all, f)
			} else {
				findings = append(findings, badSQLServerDSN(s.Name))
			}
		}
		examined = append(examined, x)
	}
	if !hasDriver() {
		return examined, append(findings, found(ServersNotAsked, Notice, "",
			"Import the driver in the program that calls the doctor, as the command readsplit does: _ \"github.com/microsoft/go-mssqldb\".",
			"SQL Server was not asked, only its connection strings were read: no driver named sqlserver is in this program."))
	}
	var wg sync.WaitGroup
	for _, f := range v.all {
		wg.Go(func() { f.gather(ctx, t.Looks) })
	}
	wg.Wait()
	v.watch(ctx)
	for f, i := range of {
		v.fill(&examined[i], f)
		f.close()
	}
	return examined, append(findings, v.judge()...)
}

// fill puts in what a server answered.
func (v *sqlView) fill(x *Examined, f *sqlFacts) {
	if x.Answered = f.answered(); !x.Answered {
		return
	}
	x.Is, x.Product, x.Version = "primary", (sqlServer{}).name(), f.about.version
	if f.run.ReadOnly {
		x.Is = "secondary"
	}
	x.Server = f.run.Server
	if f.none.why == "" {
		x.System = f.state.Group
	}
	if l, ok := v.lagOf(f); ok && l.known {
		s := l.age.Seconds()
		x.Lag = &s
	}
}

func badSQLServerDSN(server string) Finding {
	return found(DSNInvalid, Problem, server,
		"Write sqlserver://user:password@host:1433?database=..&ApplicationIntent=ReadOnly, or server=..;user id=..;password=..;database=..;ApplicationIntent=ReadOnly.",
		"The connection string cannot be read. It is not shown, since it may hold a password.")
}

// judgeSQLServer judges one connection string.
func judgeSQLServer(name string, primary bool, p map[string]string) []Finding {
	const remedy = "ApplicationIntent=ReadOnly, in exactly this spelling of the value."
	var findings []Finding
	intent, ok := p["applicationintent"]
	readOnly := intent == "ReadOnly"
	switch {
	case !ok:
		if key := almost(p); key != "" && !primary {
			findings = append(findings, found(IntentMisspelt, Problem, name, remedy, "It has a key %q, which the driver does not know.", key))
		} else if !primary {
			findings = append(findings, found(IntentMissing, Warning, name, remedy, "A replica's connection string has no ApplicationIntent."))
		}
	case primary && readOnly:
		findings = append(findings, found(IntentOnPrimary, Problem, name, "Take it out.", "The primary's connection string says ApplicationIntent=ReadOnly."))
	case !readOnly && !strings.EqualFold(intent, "ReadWrite"):
		findings = append(findings, found(IntentMisspelt, Problem, name, remedy, "ApplicationIntent is %q, which the driver takes for no intent.", connstring.Shown(intent)))
	case !readOnly && !primary:
		findings = append(findings, found(IntentMissing, Warning, name, remedy, "A replica's connection string says ApplicationIntent=%s.", intent))
	}
	if p["database"] == "" {
		severity, what := Warning, "It names no database, so that it is the login's default."
		if readOnly {
			severity, what = Problem, "It names no database: the driver refuses ApplicationIntent=ReadOnly without one."
		}
		findings = append(findings, found(DatabaseNotNamed, severity, name, "database=..", "%s", what))
	}
	return findings
}

// almost finds a key that was meant to be ApplicationIntent.
func almost(p map[string]string) string {
	for key := range p {
		letters := strings.NewReplacer(" ", "", "_", "", "-", "").Replace(key)
		if letters == "applicationintent" || letters == "intent" || letters == "appintent" {
			return key
		}
	}
	return ""
}
