package readsplit

import (
	"bytes"
	"errors"
	"log"
	"testing"

	"github.com/stretchr/testify/require"
	pg "gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/monitor"
)

// A server that is down at the start is told of while db.Use exchanges the dialector: what
// logs must not look at it then.
func TestLogLeavesTheHandleAlone(t *testing.T) {
	var out bytes.Buffer
	db := &gorm.DB{Config: &gorm.Config{
		Dialector: pg.Open(""),
		Logger:    logger.New(log.New(&out, "", 0), logger.Config{LogLevel: logger.Warn}),
	}}
	tell := logTo(db)
	db.Dialector = nil
	tell(monitor.Change{Server: "pg2", State: monitor.StateWritable})
	require.Contains(t, out.String(), `replica "pg2" is not in recovery`)
}

// Whoever reads in the log that a replica is away learns there what becomes of its reads,
// and where to look; the primary's writes go nowhere else.
func TestLogSaysWhatToDo(t *testing.T) {
	refused := errors.New("connection refused")
	for _, c := range []struct {
		change monitor.Change
		want   string
	}{
		{monitor.Change{Server: "pg2", Replica: 1, State: monitor.StateDown, Err: refused}, "pg2 is down, and no read goes there until it answers: look at the server and its log: connection refused\n"},
		{monitor.Change{Server: primaryName, Replica: -1, State: monitor.StateDown, Err: refused}, "primary is down: connection refused\n"},
		{monitor.Change{Server: "pg2", Replica: 1, State: monitor.StateLagging}, "look at its replay"},
	} {
		var out bytes.Buffer
		db := &gorm.DB{Config: &gorm.Config{
			Dialector: pg.Open(""),
			Logger:    logger.New(log.New(&out, "", 0), logger.Config{LogLevel: logger.Warn}),
		}}
		logTo(db)(c.change)
		require.Contains(t, out.String(), c.want)
	}
}
