package discover

import (
	"context"
	"errors"
	"slices"

	"github.com/readsplit/readsplit/internal/dialect"
)

var errHosts = errors.New("readsplit: discover.Hosts: the DSN is not understood: neither postgres://user@a:5432,b:5432/db nor host=a,b port=5432,5432, or the numbers of hosts and ports differ")

// Hosts is a source of the servers that a DSN of PostgreSQL names, in either form,
// host by host as pgx reads it; what the DSN leaves out comes from PGHOST and PGPORT.
// Nothing else of the DSN matters here: how a server is connected to is the template's
// affair, and target_session_attrs is nobody's, since each server is asked what it is.
// Each host has a password of its own in a passfile, as for pgx.
func Hosts(dsn string) Source {
	names, ports, ok := dialect.Servers(dsn)
	h := hosts{ok: ok}
	for i := range names {
		h.servers = append(h.servers, Server{Host: names[i], Port: ports[i]})
	}
	return h
}

type hosts struct {
	servers []Server
	ok      bool
}

func (h hosts) String() string { return "hosts of a DSN" }

// Validate reports a DSN that no answer will ever come from.
func (h hosts) Validate() error {
	if !h.ok {
		return errHosts
	}
	return nil
}

func (h hosts) Lookup(context.Context) ([]Server, error) {
	return slices.Clone(h.servers), h.Validate()
}
