package doctor

import (
	"context"
	"regexp"
	"strings"
)

// sqlServer judges connection strings of SQL Server. It asks no server.
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
	return strings.Contains(dsn, ";") || key == "server" || synonyms[key] == "server"
}

// ofPostgreSQL finds a key that a DSN of PostgreSQL has, and a connection string of SQL
// Server has not.
var ofPostgreSQL = regexp.MustCompile(`(?i)(^|\s)(host|hostaddr|dbname|service|passfile|ssl[a-z]+|application_name|connect_timeout|target_session_attrs)\s*=`)

func (e sqlServer) examine(_ context.Context, t Topology) ([]Examined, []Finding) {
	var examined []Examined
	var findings []Finding
	for i, s := range append([]Server{t.Primary}, t.Replicas...) {
		role := "replica"
		if i == 0 {
			role = "primary"
		}
		x := Examined{Name: s.Name, Declared: role}
		if e.speaks(s.DSN) {
			p, ok := parseSQLServer(s.DSN)
			x.Answered, x.Address = ok, p["server"]
			if !ok {
				findings = append(findings, found(DSNInvalid, Problem, s.Name,
					"Write sqlserver://user:password@host:1433?database=..&ApplicationIntent=ReadOnly, or server=..;user id=..;password=..;database=..;ApplicationIntent=ReadOnly.",
					"The connection string cannot be read. It is not shown, since it may hold a password."))
			} else {
				findings = append(findings, judgeSQLServer(s.Name, i == 0, p)...)
			}
		}
		examined = append(examined, x)
	}
	return examined, append(findings, found(ServersNotAsked, Notice, "",
		"On each: SELECT DATABASEPROPERTYEX(DB_NAME(), 'Updateability'). It must be READ_ONLY on a replica, and READ_WRITE on the primary.",
		"SQL Server was not asked, only its connection strings were read."))
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
		findings = append(findings, found(IntentMisspelt, Problem, name, remedy, "ApplicationIntent is %q, which the driver takes for no intent.", intent))
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
