package lsn

import (
	"fmt"
	"time"
)

// WaitVersion is the first server_version_num with WAIT FOR LSN (see [WaitSQL]).
const WaitVersion = 190000

// WaitSQL makes a standby of PostgreSQL 19 or later answer when it has replayed to,
// after most, or when it stops being a standby, whichever comes first. The answer is one
// row with one text: success, timeout or not in recovery. No right is needed.
//
// Send it alone, in no transaction and in the simple protocol: it takes no parameters,
// is refused inside functions, after a query under REPEATABLE READ, and while its session
// holds a lock and has to wait; prepared, each position would be a statement of its own.
//
// The answer proves nothing by itself. It knows no timelines, it may come from another
// run of the server than the one that was asked for, and success is also said by a server
// that was promoted since. Ask for the position afterwards ([ReplaySQL]).
//
// The server takes whole milliseconds, and rounds: what is half of one or less becomes
// zero, which means for ever. most is therefore rounded up, to 1 ms at least.
func WaitSQL(to LSN, most time.Duration) string {
	ms := max((most+time.Millisecond-1)/time.Millisecond, 1)
	return fmt.Sprintf("WAIT FOR LSN '%s' WITH (MODE 'standby_replay', TIMEOUT '%dms', NO_THROW)", to, int64(ms))
}
