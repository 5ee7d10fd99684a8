package doctor

import (
	"fmt"
	"time"
)

// judge says what follows from the facts. Everything below it is pure.
func (v *view) judge() []Finding {
	var findings []Finding
	for _, judge := range []func(*view) []Finding{
		judgeReach, judgeDSNs, judgeRoles, judgeNames, judgeVersions, judgeClocks, judgePrivileges,
		judgeReplay, judgeReplaySettings, judgeWAL, judgeCommits, judgeConnections, judgeStandbySettings, judgeSessions,
		judgeTransactions,
	} {
		findings = append(findings, judge(v)...)
	}
	return findings
}

// span writes a measured duration, to the tenth of a second.
func span(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// size writes a number of bytes.
func size(n uint64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	case n < 10_000_000_000:
		return fmt.Sprintf("%d MB", n/1_000_000)
	}
	return fmt.Sprintf("%d GB", n/1_000_000_000)
}

// plural writes a number of things.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
