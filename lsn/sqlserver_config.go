package lsn

import (
	"fmt"
	"regexp"
	"strings"
)

// SQLServer says how the positions of a SQL Server are had. The zero SQLServer reads
// them from the views of its availability group, and trusts them only after the window:
// see docs/sqlserver.md.
type SQLServer struct {
	// Marker is a table of one row that is written with each capture of the primary's
	// position and read back on the replicas, such as dbo.readsplit_marker;
	// [SQLServerMarkerTable] is its definition. What a replica shows of it proves by
	// itself which commits it shows, so that no window and no permission on views is
	// needed. Defaults to none.
	Marker string
}

var markerName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*|\[[^\[\]]+\])(\.([A-Za-z_][A-Za-z0-9_]*|\[[^\[\]]+\]))?$`)

// Validate reports what c has that cannot be used.
func (c SQLServer) Validate() error {
	if c.Marker != "" && !markerName.MatchString(c.Marker) {
		return fmt.Errorf("it is %q: it must be the name of a table, as dbo.readsplit_marker or [app].[marker]", c.Marker)
	}
	return nil
}

// SQLServerMarkerTable is the definition of a marker table of that name, for a
// migration.
func SQLServerMarkerTable(name string) string {
	return `CREATE TABLE ` + name + ` (id int NOT NULL PRIMARY KEY, origin uniqueidentifier NOT NULL, n bigint NOT NULL);
INSERT INTO ` + name + ` (id, origin, n) VALUES (1, NEWID(), 1)`
}

// SQLServerMarkSQL takes the next number of the marker table, on a primary.
// [ParseSQLServerMark] reads its answer.
func SQLServerMarkSQL(table string) string {
	return `UPDATE ` + table + ` SET n = n + 1 OUTPUT CONCAT('n1 ', CONVERT(varchar(36), INSERTED.origin), ' ', INSERTED.n) WHERE id = 1`
}

// SQLServerMarkedSQL reads the number that a server shows.
func SQLServerMarkedSQL(table string) string {
	return `SELECT CONCAT('n1 ', CONVERT(varchar(36), origin), ' ', n) FROM ` + table + ` WHERE id = 1`
}

// ParseSQLServerMark reads the answer to [SQLServerMarkSQL] and [SQLServerMarkedSQL]:
// the system that the table is of, and its number.
func ParseSQLServerMark(text string) (system uint64, n LSN, err error) {
	f := strings.Split(text, " ")
	if len(f) != 3 || f[0] != "n1" {
		return 0, 0, fmt.Errorf("readsplit: marker: %d fields, want 3", len(f))
	}
	p := fields{name: "marker", f: f}
	if n = LSN(p.uint(2)); n == 0 {
		p.fail(2, "a number of 1 or more")
	}
	if len(f[1]) != 36 {
		p.fail(1, "a uniqueidentifier")
	}
	return hash("marker", strings.ToUpper(f[1])), n, p.err
}

// SQLServerMarked makes a sample of a number of the marker table.
func SQLServerMarked(r SQLServerRun, system uint64, n LSN) Sample {
	s := Sample{Server: SQLServerSelf(r), InRecovery: r.ReadOnly}
	s.System = system
	if r.ReadOnly {
		s.Replay, s.ReceivedTimeline = n, StandsStill+1
	} else {
		s.Flush, s.Insert, s.Timeline = n, n, StandsStill+1
	}
	return s
}
