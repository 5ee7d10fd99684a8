package doctor

import (
	"errors"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

// errMisread is a DSN that was read as something that nobody has meant.
var errMisread = errors.New("a part of the DSN stands where it does not belong")

// parameter is what names of a server's parameters look like.
var parameter = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$.]*$`)

// readDSN reads a DSN of PostgreSQL. A password with a character that should have been
// escaped, or without its quotes, can be read as the name of a host, of a database or
// of a parameter, all of which are reported, sent to a name server and quoted by the
// server: that is an error here, which says nothing of the DSN.
func readDSN(dsn string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	for _, host := range hostsOf(cfg) {
		if strings.LastIndex(host.Host, "@") > 0 || strings.Contains(host.Host, ";") { // a socket without a file begins with @
			return nil, errMisread
		}
	}
	if strings.ContainsAny(cfg.Database, "@;") || strings.Contains(cfg.User, ";") {
		return nil, errMisread
	}
	for name := range cfg.RuntimeParams {
		if !parameter.MatchString(name) {
			return nil, errMisread
		}
	}
	return cfg, nil
}
