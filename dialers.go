package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"reflect"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/internal/dialect"
)

// dialer makes connections to one server the way its dialector does, with
// everything that the dialector's configuration says (time zone, protocol,
// hooks), whatever the driver. It lets the dialector open a *sql.DB and uses
// that for nothing but connecting.
//
// The plugin must see every connection that is opened (a standby that crashed
// answers again within 300 ms in an older state, and database/sql reconnects
// without a word), but the connector inside the dialector's *sql.DB is not to be
// had. So a connection is taken out of it, held for as long as the plugin's own
// pool uses it, and closed with it.
type dialer struct {
	db *sql.DB
	// owned says that the dialector opened db for us. A *sql.DB that the
	// application passed in (postgres.Config.Conn) is not ours to close.
	owned  bool
	engine engine   // nil: plain
	plain  postgres // asks its server where nothing else is said
	hung   hanging
}

// newDialer initialises d apart from any other gorm.DB: with a copy of an
// existing configuration gorm would initialise every plugin again and overwrite
// the prepared-statement cache. It does not connect.
func newDialer(d gorm.Dialector) (*dialer, error) {
	scratch, err := gorm.Open(d, &gorm.Config{DisableAutomaticPing: true, Logger: logger.Discard})
	if err != nil {
		return nil, fmt.Errorf("the driver does not accept its configuration: %s", withoutDSN(err, d))
	}
	db, err := scratch.DB()
	if err != nil {
		return nil, fmt.Errorf("its pool of type %T is not a *sql.DB, which is needed to make connections: %w", scratch.Statement.ConnPool, err)
	}
	return &dialer{db: db, owned: !dialect.HasOwnPool(d)}, nil
}

// withoutDSN returns the message of a driver that could not parse its DSN. Drivers
// quote it, pgx in backquotes and with all but the password: it belongs in no log.
// For the same reason the error itself is not wrapped.
func withoutDSN(err error, d gorm.Dialector) string {
	text := err.Error()
	if first, last := strings.Index(text, "`"), strings.LastIndex(text, "`"); first < last {
		text = text[:first] + "its DSN" + text[last+1:]
	}
	if dsn := dialect.Field(d, "DSN"); dsn.IsValid() && dsn.Kind() == reflect.String && dsn.Len() > 0 {
		text = strings.ReplaceAll(text, dsn.String(), "its DSN")
	}
	return text
}

// scarce reports whether the pool is the application's and so small that a
// connection kept for the monitor could be the one that the application needs.
func (d *dialer) scarce() bool {
	if d.db == nil {
		return true
	}
	most := d.db.Stats().MaxOpenConnections
	return !d.owned && 0 < most && most < 4
}

// begins returns when the connection that dial is about to bring was begun to be opened, at
// the earliest. A pool of the application's own may have one idle, or give the next one that
// comes back: it can be to a server that the name has left since.
func (d *dialer) begins() time.Time {
	if !d.owned {
		if s := d.db.Stats(); s.Idle > 0 || s.MaxOpenConnections > 0 && s.OpenConnections >= s.MaxOpenConnections {
			return processStart
		}
	}
	return time.Now()
}

// dial opens one connection.
func (d *dialer) dial(ctx context.Context) (*heldConn, error) {
	holder, err := d.conn(ctx)
	if err != nil {
		return nil, err
	}
	h := &heldConn{holder: holder}
	err = holder.Raw(func(c any) error {
		conn, ok := c.(driver.Conn)
		if !ok {
			return fmt.Errorf("readsplit: the driver's connection is a %T, not a driver.Conn", c)
		}
		h.hold(conn)
		return nil
	})
	if err != nil {
		_ = holder.Close()
		return nil, err
	}
	return h, nil
}

func (d *dialer) close() error {
	if !d.owned || d.db == nil {
		return nil
	}
	return d.db.Close()
}
