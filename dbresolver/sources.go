package dbresolver

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/internal/dialect"
	"github.com/readsplit/readsplit/lsn"
)

// sourceTimeout is how long one of several sources may take to say who it is.
const sourceTimeout = 5 * time.Second

// primaryOf returns the one primary that the sources are: the first that answers
// of several. It is nil where there is none.
func primaryOf(sources []gorm.Dialector) (gorm.Dialector, error) {
	for i, d := range sources {
		if v := reflect.ValueOf(d); d == nil || v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, fmt.Errorf("entry %d of Sources is nil: set it to what gorm.Open would take, or remove it", i)
		}
	}
	if len(sources) == 0 {
		return nil, nil
	}
	if len(sources) == 1 {
		return sources[0], nil
	}
	chosen := -1
	var first lsn.Server
	for i, d := range sources {
		server, err := identify(d)
		switch {
		case err != nil: // it may come up later; the others do
		case chosen < 0:
			chosen, first = i, server
		case server.System != first.System || server.Started != first.Started:
			return nil, fmt.Errorf("entries %d and %d of Sources are two servers: with two primaries nobody can promise that users see their own writes; keep the one primary, or give the tables of the other a Register of their own", chosen, i)
		}
	}
	return sources[max(chosen, 0)], nil
}

// identify asks a server who it is, over a pool that is closed again.
func identify(d gorm.Dialector) (lsn.Server, error) {
	db, err := gorm.Open(d, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	if err != nil {
		return lsn.Server{}, err
	}
	pool, err := db.DB()
	if err != nil {
		return lsn.Server{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), sourceTimeout)
	defer cancel()
	var text string
	err = pool.QueryRowContext(ctx, lsn.FullSQL).Scan(&text)
	if !dialect.HasOwnPool(d) { // else it is the application's, which goes on using it
		err = errors.Join(err, pool.Close())
	}
	if err != nil {
		return lsn.Server{}, err
	}
	sample, err := lsn.ParseSample(text)
	return sample.Server, err
}
