package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/readsplit/readsplit/testenv"
)

// lab is a primary with two replicas, and a database that is fed by logical replication.
type lab struct {
	cluster, fed *testenv.Cluster
	database     string
	subscribed   bool
	o            options
}

const (
	rows    = 5000
	changed = 4900 // of them, by each UPDATE
)

// The report takes its time at every fiftieth row, as if it computed. replayed is what the
// server has replayed when the last row has been read.
const schema = `
CREATE TABLE entries (id bigint PRIMARY KEY, amount bigint NOT NULL);
CREATE TABLE heartbeats (id bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE FUNCTION counted(n bigint, pause float) RETURNS bigint LANGUAGE plpgsql STABLE AS
	$$ BEGIN IF n % 50 = 0 THEN PERFORM pg_sleep(pause); END IF; RETURN n; END $$;
CREATE FUNCTION replayed() RETURNS text LANGUAGE plpgsql STABLE AS
	$$ BEGIN RETURN pg_last_wal_replay_lsn()::text; END $$;`

func newLab(ctx context.Context, o options) (*lab, error) {
	l := &lab{database: "reports", o: o}
	// VACUUM runs when the lab says so, and not by itself as well.
	var errs [2]error
	var both sync.WaitGroup
	both.Go(func() {
		l.fed, errs[1] = testenv.New(ctx, testenv.Config{Version: o.version, Replicas: -1, Settings: map[string]string{"autovacuum": "off"}})
	})
	l.cluster, errs[0] = testenv.New(ctx, testenv.Config{Version: o.version, Settings: map[string]string{
		"wal_level": "logical", "autovacuum": "off", "max_standby_streaming_delay": setting(o.patience),
	}})
	both.Wait()
	err := errors.Join(errs[:]...)
	if err == nil {
		err = errors.Join(l.cluster.CreateDatabase(ctx, l.database), l.fed.CreateDatabase(ctx, l.database))
	}
	if err == nil {
		err = errors.Join(l.do(ctx, l.cluster.Primary(), schema), l.do(ctx, l.fed.Primary(), schema))
	}
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *lab) close() (err error) {
	for _, c := range []*testenv.Cluster{l.fed, l.cluster} { // who subscribes goes first
		if c != nil {
			err = errors.Join(err, c.Close(context.Background()))
		}
	}
	return err
}

func (l *lab) server(name string) *testenv.Server {
	if name == reporting {
		return l.fed.Primary()
	}
	return l.cluster.Server(name)
}

func setting(patience time.Duration) string {
	if patience < 0 {
		return "-1"
	}
	return fmt.Sprintf("%dms", patience.Milliseconds())
}

// furnish gives the table its rows, none of them dead, and the place its settings, and
// returns when they are in force.
func (l *lab) furnish(ctx context.Context, f form) error {
	primary := l.cluster.Primary()
	for _, text := range []string{
		"TRUNCATE entries, heartbeats",
		fmt.Sprintf("INSERT INTO entries SELECT i, 1 FROM generate_series(1, %d) i", rows),
		"VACUUM (ANALYZE) entries",
	} {
		if err := l.do(ctx, primary, text); err != nil {
			return err
		}
	}
	if f.logical {
		return l.subscribe(ctx)
	}
	place := l.server(f.place)
	for _, text := range []string{
		fmt.Sprintf("ALTER SYSTEM SET max_standby_streaming_delay = '%s'", setting(f.patience)),
		fmt.Sprintf("ALTER SYSTEM SET hot_standby_feedback = %t", f.feedback),
		"SELECT pg_reload_conf()",
	} {
		if err := l.do(ctx, place, text); err != nil {
			return err
		}
	}
	if err := await(ctx, "the settings", l.says(place, "SELECT setting = $1 FROM pg_settings WHERE name = 'max_standby_streaming_delay'", strings.TrimSuffix(setting(f.patience), "ms"))); err != nil {
		return err
	}
	// Whoever replays has read them too when it has replayed what came after.
	if err := l.cluster.WaitCaughtUp(ctx); err != nil {
		return err
	}
	return await(ctx, "feedback", l.says(primary, "SELECT (count(backend_xmin) > 0) = $1 FROM pg_stat_replication", f.feedback))
}

// reset takes the settings of a form back.
func (l *lab) reset(ctx context.Context, f form) error {
	if f.logical {
		return nil
	}
	if err := l.do(ctx, l.server(f.place), "ALTER SYSTEM RESET ALL"); err != nil {
		return err
	}
	if err := l.do(ctx, l.server(f.place), "SELECT pg_reload_conf()"); err != nil {
		return err
	}
	return l.cluster.WaitCaughtUp(ctx)
}

// subscribe feeds the database for reports, and returns when it has all rows as they are.
func (l *lab) subscribe(ctx context.Context) error {
	if !l.subscribed {
		if err := l.do(ctx, l.cluster.Primary(), "CREATE PUBLICATION reports FOR TABLE entries, heartbeats"); err != nil {
			return err
		}
		text := fmt.Sprintf("CREATE SUBSCRIPTION reports CONNECTION '%s' PUBLICATION reports", l.cluster.Primary().DSNFor(l.database))
		if err := l.do(ctx, l.fed.Primary(), text); err != nil {
			return err
		}
		l.subscribed = true
	}
	return await(ctx, "the first copy", l.says(l.fed.Primary(), `SELECT NOT EXISTS (SELECT 1 FROM pg_subscription_rel WHERE srsubstate <> 'r')
		AND (SELECT count(*) = $1 AND sum(amount) = $1 FROM entries)`, rows))
}
