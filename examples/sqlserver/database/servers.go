// Package database knows the servers of the shop: where they are, and how they are
// opened. It is the only place of the application where replicas exist.
package database

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv"
)

// Server is a readable secondary.
type Server struct{ Name, DSN string }

// Servers are where the database is.
type Servers struct {
	// Primary is the DSN of the group's listener, or of the only server.
	Primary string
	// Replicas are the secondaries, each by an address of its own.
	Replicas []Server
	// Double is what stands for SQL Server where nobody named one; nil: it is a real one.
	Double *tdsenv.Cluster

	named []string // what -replica said; flag shows a value that it does not take, with the password
}

// What a program says of itself first.
const (
	OnDouble = "Tested against a TDS protocol double: no SQL Server was named, so that this runs on a double, which is no SQL Server."
	OnServer = "On the SQL Server that was named."
)

// Banner is the first line of a program's output.
func (s *Servers) Banner() string {
	if s.Double != nil {
		return OnDouble
	}
	return OnServer
}

// Flags has flags name the servers: -primary, and -replica for each secondary.
func (s *Servers) Flags(flags *flag.FlagSet) {
	flags.StringVar(&s.Primary, "primary", "", "`DSN` of the availability group's listener (default $READSPLIT_PRIMARY, else a double)")
	flags.Func("replica", "`name=DSN` of a readable secondary, with ApplicationIntent=ReadOnly; once for each (default the lines of $READSPLIT_REPLICAS)", func(text string) error {
		s.named = append(s.named, text)
		return nil
	})
}

// add reads name=DSN. Its errors do not show the rest, which may hold a password.
func (s *Servers) add(text string) error {
	name, dsn, ok := strings.Cut(strings.TrimSpace(text), "=")
	if !ok || name == "" || dsn == "" || strings.ContainsAny(name, ":/@; ") {
		return errors.New("write name=DSN, where the name is that of @@SERVERNAME")
	}
	s.Replicas = append(s.Replicas, Server{Name: name, DSN: dsn})
	return nil
}

// Fill takes from the environment what no flag said, and starts a double where nobody
// named a server. Close ends it.
func (s *Servers) Fill(ctx context.Context, getenv func(string) string, double tdsenv.Config) (err error) {
	for i, text := range s.named {
		if err := s.add(text); err != nil {
			return fmt.Errorf("-replica, number %d: %w", i+1, err)
		}
	}
	if s.Primary == "" && len(s.Replicas) == 0 {
		s.Primary = getenv("READSPLIT_PRIMARY")
		n := 0
		for line := range strings.Lines(getenv("READSPLIT_REPLICAS")) {
			n++
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			if err := s.add(line); err != nil {
				return fmt.Errorf("READSPLIT_REPLICAS, line %d: %w", n, err)
			}
		}
	}
	switch {
	case s.Primary == "" && len(s.Replicas) > 0:
		return errors.New("there are replicas and no primary: name it with -primary, or READSPLIT_PRIMARY")
	case s.Primary != "":
		return nil
	}
	if s.Double, err = tdsenv.New(ctx, double); err != nil {
		return err
	}
	s.Primary = s.Double.Listener().DSN()
	for _, r := range s.Double.Replicas() {
		s.Replicas = append(s.Replicas, Server{Name: r.Name(), DSN: r.ReadOnlyDSN()})
	}
	return nil
}

// Export returns what a shell is told for readsplit doctor to examine these servers. The
// DSNs have passwords in them, which matters where they are no double's.
func (s *Servers) Export() string {
	lines := make([]string, len(s.Replicas))
	for i, r := range s.Replicas {
		lines[i] = r.Name + "=" + r.DSN
	}
	return fmt.Sprintf("export READSPLIT_PRIMARY='%s' READSPLIT_REPLICAS='%s'", s.Primary, strings.Join(lines, "\n"))
}

// Close ends the double.
func (s *Servers) Close(ctx context.Context) error {
	if s.Double == nil {
		return nil
	}
	return s.Double.Close(ctx)
}
