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
	return `CREATE TABLE ` + name + ` (id int NOT NULL PRIMARY KEY, origin uniqueidentifier NOT NULL, reign uniqueidentifier NOT NULL,
 writer nvarchar(200) NOT NULL, n bigint NOT NULL);
INSERT INTO ` + name + ` (id, origin, reign, writer, n) VALUES (1, NEWID(), NEWID(), '', 1)`
}

// The run of the server that a statement runs on, and a number that is larger than any
// that its clock has given before.
const (
	sqlServerMe = `CONCAT(CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')), ' ',
 (SELECT CONVERT(varchar(30), create_date, 126) FROM sys.databases WHERE name = 'tempdb'))`
	sqlServerTick = `CONVERT(bigint, DATEDIFF(second, '20200101', SYSUTCDATETIME())) * 1000000`
)

// SQLServerMarkSQL takes the next number of the marker table, on a primary.
// [ParseSQLServerMark] reads its answer.
//
// A primary that was forced into its place goes on from what it had, so that numbers
// which are lost with the old one would be given out again: a secondary that still shows
// those would seem to have what it has not. So whoever is the first to take a number on
// another run of a server begins a reign of its own. And where the same run becomes the
// primary again without that anybody took a number in between, the numbers have gone on
// with its clock.
func SQLServerMarkSQL(table string) string {
	return `UPDATE ` + table + ` SET reign = CASE WHEN writer = ` + sqlServerMe + ` THEN reign ELSE NEWID() END,
 writer = ` + sqlServerMe + `,
 n = CASE WHEN n < ` + sqlServerTick + ` THEN ` + sqlServerTick + ` ELSE n + 1 END
 OUTPUT CONCAT('n2 ', CONVERT(varchar(36), INSERTED.origin), ' ', CONVERT(varchar(36), INSERTED.reign), ' ', INSERTED.n) WHERE id = 1`
}

// SQLServerMarkedSQL reads the number that a server shows.
func SQLServerMarkedSQL(table string) string {
	return `SELECT CONCAT('n2 ', CONVERT(varchar(36), origin), ' ', CONVERT(varchar(36), reign), ' ', n) FROM ` + table + ` WHERE id = 1`
}

// SQLServerMark is what a server shows of the marker table.
type SQLServerMark struct {
	// System is that of the table. Reign is the timeline of the primary that has taken
	// the number: of two, which is larger says nothing.
	System uint64
	Reign  uint32
	N      LSN
}

// ParseSQLServerMark reads the answer to [SQLServerMarkSQL] and [SQLServerMarkedSQL].
func ParseSQLServerMark(text string) (SQLServerMark, error) {
	f := strings.Split(text, " ")
	if len(f) != 4 || f[0] != "n2" {
		return SQLServerMark{}, fmt.Errorf("readsplit: marker: %d fields, want 4", len(f))
	}
	p := fields{name: "marker", f: f}
	m := SQLServerMark{N: LSN(p.uint(3))}
	if m.N == 0 {
		p.fail(3, "a number of 1 or more")
	}
	for i := 1; i <= 2; i++ {
		if len(f[i]) != 36 {
			p.fail(i, "a uniqueidentifier")
		}
	}
	m.System = hash("marker", strings.ToUpper(f[1]))
	m.Reign = max(uint32(hash("reign", strings.ToUpper(f[2]))), StandsStill+1)
	return m, p.err
}

// SQLServerMarked makes a sample of a number of the marker table. reign is that of the
// primary: what was taken in another proves nothing.
func SQLServerMarked(r SQLServerRun, m SQLServerMark, reign uint32) Sample {
	s := Sample{Server: SQLServerSelf(r), InRecovery: r.ReadOnly}
	s.System = m.System
	switch {
	case !r.ReadOnly:
		s.Flush, s.Insert, s.Timeline = m.N, m.N, m.Reign
	case m.Reign == reign:
		s.Replay, s.ReceivedTimeline = m.N, m.Reign
	default:
		s.Replay, s.ReceivedTimeline = m.N, StandsStill
	}
	return s
}
