// Command gen writes the lists of words and functions that package sqlclass
// looks up. The PostgreSQL lists come from pg_proc and pg_get_keywords of running
// servers, corrected by the reviewed lists in this folder; the SQL Server lists
// are reviewed by hand alone.
//
// One -psql per server version, oldest first; the command is split at blanks:
//
//	go run ./sqlclass/internal/gen -dir sqlclass \
//	    -psql "psql -h /run/pg15 -U postgres" -psql "psql -h /run/pg18 -U postgres"
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	var commands []string
	dir := flag.String("dir", ".", "folder of package sqlclass")
	flag.Func("psql", "psql command for one server, repeatable", func(v string) error {
		commands = append(commands, v)
		return nil
	})
	flag.Parse()
	if err := run(*dir, commands); err != nil {
		log.Fatal(err)
	}
}

func run(dir string, commands []string) error {
	if len(commands) == 0 {
		return fmt.Errorf("gen: -psql is empty: name at least one server")
	}
	servers := make([]server, len(commands))
	for i, command := range commands {
		s, err := readServer(command)
		if err != nil {
			return err
		}
		servers[i] = s
	}
	postgres, err := postgresFile(servers)
	if err != nil {
		return err
	}
	for name, f := range map[string]file{"postgres_gen.go": postgres, "sqlserver_gen.go": transactFile()} {
		text, err := f.source()
		if err != nil {
			return fmt.Errorf("gen: %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// server is what one PostgreSQL version knows.
type server struct {
	version  string
	stable   set // names of which every overload is immutable or stable
	volatile set // names of which some overload is volatile
	keywords set
	reserved set // keywords that cannot be the name of a function
}

const functionsQuery = `
SELECT p.proname, bool_and(p.provolatile IN ('i', 's'))
FROM pg_catalog.pg_proc p
WHERE p.pronamespace = 'pg_catalog'::regnamespace
GROUP BY p.proname
HAVING bool_or(NOT (p.proargtypes::oid[] || p.prorettype) && ARRAY[
    'internal', 'cstring', 'trigger', 'event_trigger', 'index_am_handler', 'table_am_handler',
    'fdw_handler', 'tsm_handler', 'language_handler']::regtype[]::oid[])`

const keywordsQuery = `SELECT word, catcode IN ('R', 'C') FROM pg_catalog.pg_get_keywords()`

func readServer(command string) (server, error) {
	s := server{stable: set{}, volatile: set{}, keywords: set{}, reserved: set{}}
	rows, err := query(command, "SHOW server_version")
	if err != nil {
		return s, err
	}
	s.version, _, _ = strings.Cut(rows[0][0], " ")
	if rows, err = query(command, functionsQuery); err != nil {
		return s, err
	}
	for _, r := range rows {
		if r[1] == "t" {
			s.stable.add(r[0])
		} else {
			s.volatile.add(r[0])
		}
	}
	if rows, err = query(command, keywordsQuery); err != nil {
		return s, err
	}
	for _, r := range rows {
		s.keywords.add(r[0])
		if r[1] == "t" {
			s.reserved.add(r[0])
		}
	}
	return s, nil
}

func query(command, sql string) ([][]string, error) {
	args := append(strings.Fields(command), "-X", "-A", "-t", "-F", "\t", "-c", sql)
	out, err := exec.Command(args[0], args[1:]...).Output()
	if err != nil {
		return nil, fmt.Errorf("gen: %s: %w", command, err)
	}
	var rows [][]string
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		rows = append(rows, strings.Split(line, "\t"))
	}
	return rows, nil
}
