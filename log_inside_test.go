package readsplit

import (
	"bytes"
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
