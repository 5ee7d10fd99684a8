package readsplit_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// impatientReplay makes replica1 cancel at once what stands in the way of replay. What
// takes long takes long there alone, where it is to be cancelled.
func impatientReplay(t *testing.T, d *testDB) {
	t.Helper()
	r := d.cluster.Replica(0)
	set := func(statement string) {
		execOn(t, r, statement)
		execOn(t, r, "SELECT pg_reload_conf()")
	}
	set("ALTER SYSTEM SET max_standby_streaming_delay = 0")
	t.Cleanup(func() { set("ALTER SYSTEM RESET max_standby_streaming_delay") })
	require.NoError(t, d.Exec(`CREATE FUNCTION work(seconds float) RETURNS text LANGUAGE plpgsql STABLE AS
		$$ BEGIN
			IF current_setting('cluster_name') = 'replica1' THEN PERFORM pg_sleep(seconds); END IF;
			RETURN current_setting('cluster_name');
		END $$`).Error)
	counters(t, d, 16)
}

// conflict cancels what runs in d on replica1 for longer than a moment, and
// returns when it is gone. What the server cleans up by itself may cancel it first: over
// says that it has.
func conflict(t *testing.T, d *testDB, longer time.Duration, over func() bool) {
	t.Helper()
	old := fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE datname = '%s' AND state = 'active' AND query LIKE '%%work(%%' AND query_start < clock_timestamp() - interval '%d ms'", d.name, longer.Milliseconds())
	eventually(t, "the report to run", func() bool { return over() || ask[int](t, d.cluster.Replica(0), old) > 0 })
	there := direct(t, d.cluster.Primary(), d.name)
	// Whoever looks at the primary for a moment keeps VACUUM from removing a row.
	eventually(t, "it to be cancelled", func() bool {
		for _, text := range []string{"UPDATE counters SET n = n", "VACUUM counters"} {
			_, err := there.ExecContext(limit(t), text)
			require.NoError(t, err)
		}
		return ask[int](t, d.cluster.Replica(0), old) == 0
	})
}

// A report that replay has cancelled is not tried on ordinary replicas over and
// over, and after the second time does not begin there.
func TestStatementThatKeepsConflicting(t *testing.T) {
	for name, tt := range map[string]struct {
		group string
		where string
	}{
		"the primary":           {"", "primary"},
		"the group for reports": {"reports", "replica2"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDB(t, breakable(t), configured(boundless), saidToRead("work"), configured(func(c *readsplit.Config) {
				c.Balancer = first{}
				c.Replicas[1].Groups = []string{"reports"}
				c.ConflictGroup = tt.group
			}))
			impatientReplay(t, d)
			eventually(t, "replica1 to serve", func() bool { return served(t, d.DB) == "replica1" })
			session := func() context.Context { return readsplit.WithSession(context.Background(), readsplit.NewSession()) }
			report := func(ctx context.Context) (server string, decision readsplit.Decision) {
				tx := d.WithContext(ctx).Raw("SELECT work(25)").Find(&server)
				assert.NoError(t, tx.Error)
				decision, _ = readsplit.DecisionOf(tx)
				assert.Equal(t, server, decision.Server)
				return server, decision
			}
			for run := range 2 {
				type result struct {
					server   string
					decision readsplit.Decision
				}
				done := make(chan result, 1)
				go func() {
					server, decision := report(session())
					done <- result{server, decision}
				}()
				conflict(t, d, 1100*time.Millisecond, func() bool { return len(done) > 0 })
				got := <-done
				require.Equal(t, tt.where, got.server, "one replay is the most, and it is where it will not be cancelled")
				require.Equal(t, 2, got.decision.Attempts)
				require.Equal(t, policy.ReasonKeepsConflicting, got.decision.Reason)
				st := d.plugin.Status()
				require.EqualValues(t, run+1, st.Conflicts[retry.ConflictSnapshot], "%v", st.Conflicts)
				require.Equal(t, run, st.KeepConflicting)
			}
			server, decision := report(session())
			require.Equal(t, tt.where, server)
			require.Equal(t, 1, decision.Attempts, "it did not begin on replica1")
			require.Equal(t, policy.ReasonKeepsConflicting, decision.Reason)
			require.Equal(t, "replica1", served(t, d.WithContext(session())), "other statements stay")
			st := d.plugin.Status()
			require.EqualValues(t, 3, st.Reasons[policy.ReasonKeepsConflicting])
			require.EqualValues(t, 2, st.Retries[retry.CauseRecoveryConflict])

			// Who names a group has chosen.
			if tt.group != "" {
				server, decision = report(readsplit.Group(session(), "reports"))
				require.Equal(t, tt.where, server)
				require.NotEqual(t, policy.ReasonKeepsConflicting, decision.Reason)
			}
		})
	}
}

// Short statements that are cancelled with many others stay on the replicas.
func TestShortConflictsStayOnReplicas(t *testing.T) {
	d := newDB(t, breakable(t), configured(boundless), saidToRead("work"), configured(func(c *readsplit.Config) {
		c.Balancer = first{}
		c.MaxSampleAge = 10 * time.Second // on a busy machine the other replica's news would be too old
	}))
	impatientReplay(t, d)
	eventually(t, "replica1 to serve", func() bool { return served(t, d.DB) == "replica1" })
	short := 0
	for round := 0; short < 3; round++ {
		require.Less(t, round, 30, "on this machine they are not short")
		text := fmt.Sprintf("SELECT work(0.4) AS round%d", round)
		type answer struct {
			server string
			reason policy.Reason
			took   time.Duration
			err    error
		}
		answers := make(chan answer, 8)
		before := d.plugin.Status()
		for range cap(answers) {
			go func() {
				var a answer
				ctx, began := readsplit.WithSession(context.Background(), readsplit.NewSession()), time.Now()
				tx := d.WithContext(ctx).Raw(text).Find(&a.server)
				a.err = tx.Error
				if decided, ok := readsplit.DecisionOf(tx); ok {
					a.reason = decided.Reason
				}
				a.took = time.Since(began)
				answers <- a
			}()
		}
		conflict(t, d, 0, func() bool { return len(answers) > 0 })
		var slowest time.Duration
		var primary []policy.Reason
		for range cap(answers) {
			a := <-answers
			assert.NoError(t, a.err)
			slowest = max(slowest, a.took)
			if a.server == "primary" {
				primary = append(primary, a.reason)
			}
		}
		st := d.plugin.Status()
		if slowest >= time.Second || st.Conflicts[retry.ConflictSnapshot] == before.Conflicts[retry.ConflictSnapshot] {
			continue // a busy machine makes long ones of them, or cancels too late
		}
		if slices.Contains(primary, policy.ReasonBehindSession) {
			continue // the other replica had not replayed the tables yet
		}
		short++
		assert.Empty(t, primary)
		for range 4 { // and they come through at other times
			require.NoError(t, d.WithContext(readsplit.Stale(t.Context())).Raw(text).Find(new(string)).Error)
		}
		st = d.plugin.Status()
		assert.LessOrEqual(t, st.KeepConflicting, before.KeepConflicting)
		assert.Equal(t, before.Reasons[policy.ReasonKeepsConflicting], st.Reasons[policy.ReasonKeepsConflicting])
	}
}
