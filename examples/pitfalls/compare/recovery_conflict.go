package main

import (
	"context"
	"errors"
	"sync"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var recoveryConflict = behaviour{
	name:  "recovery_conflict",
	title: "A report on replicas meets `VACUUM`",
	story: "A report takes long on a replica, and replay has to remove rows that it can still see. When the patience of the replica is over (`max_standby_streaming_delay`; here none) it cancels the report, whose user gets the error.",
	ours:  "A read that replay has cancelled is run again elsewhere: a short one on any replica, one that had run for a second in the group for reports or on the primary. Statements to which it keeps happening begin there.",
	held:  []test{{"rule_conflict_test.go", "TestStatementThatKeepsConflicting"}, {"fault_replica_test.go", "TestFaultRecoveryConflict"}},
	show:  showRecoveryConflict,
}

func showRecoveryConflict(ctx context.Context, s *stage.Stage, _ size) (pair, error) {
	const reports = 5
	// The report takes long on replicas alone, where it is to be cancelled.
	err := s.Prepare(ctx, `CREATE TABLE entries (id bigserial PRIMARY KEY, amount bigint); INSERT INTO entries (amount) SELECT 1 FROM generate_series(1, 16);
		CREATE FUNCTION work() RETURNS bigint LANGUAGE plpgsql STABLE AS
		$$ BEGIN IF pg_is_in_recovery() THEN PERFORM pg_sleep(30); END IF; RETURN 0; END $$`)
	if err != nil {
		return pair{}, err
	}
	naive, routed, err := both(ctx, s, nil)
	if err != nil {
		return pair{}, err
	}
	past, err := s.Open(s.Cluster.Primary())
	if err != nil {
		return pair{}, err
	}
	if err := impatient(ctx, s); err != nil {
		return pair{}, err
	}
	return each(naive, routed, "fail", func(db *gorm.DB, _ int) (failed tally, err error) {
		var all sync.WaitGroup
		var mu sync.Mutex
		for range reports {
			all.Go(func() {
				var n int64
				err := db.WithContext(stage.Customer(ctx)).Raw("SELECT count(*) + work() FROM entries").Find(&n).Error
				mu.Lock()
				defer mu.Unlock()
				failed.add(n != 16, err)
			})
		}
		ended := make(chan struct{})
		go func() {
			all.Wait()
			close(ended)
		}()
		for err == nil {
			select {
			case <-ended:
				return failed, nil
			default: // whoever looks at the primary for a moment keeps VACUUM from removing a row
				err = errors.Join(past.Exec("UPDATE entries SET amount = amount").Error, past.Exec("VACUUM entries").Error)
			}
		}
		<-ended
		return failed, err
	})
}

// impatient has replay on both replicas cancel at once what stands in its way.
func impatient(ctx context.Context, s *stage.Stage) error {
	for _, r := range s.Cluster.Replicas() {
		set := func(ctx context.Context, text string) error {
			if _, err := r.DB().ExecContext(ctx, text); err != nil {
				return err
			}
			_, err := r.DB().ExecContext(ctx, "SELECT pg_reload_conf()")
			return err
		}
		if err := set(ctx, "ALTER SYSTEM SET max_standby_streaming_delay = 0"); err != nil {
			return err
		}
		s.OnEnd(func(ctx context.Context) error { return set(ctx, "ALTER SYSTEM RESET max_standby_streaming_delay") })
		// Replay that waits already would go on with the 30 s of before.
		var failed error
		err := stage.Eventually(ctx, "the setting to be read", func() bool {
			var delay string
			failed = r.DB().QueryRowContext(ctx, "SHOW max_standby_streaming_delay").Scan(&delay)
			return failed != nil || delay == "0"
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
	}
	return s.Prepare(ctx, "UPDATE entries SET amount = amount")
}
