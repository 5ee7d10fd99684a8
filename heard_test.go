package readsplit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

// What another process wrote, and what a token of it said here, is seen by code that
// has lost the context of its request; what somebody forged moves nobody but them.
func TestReadsWithoutASessionSeeWhatTokensSaid(t *testing.T) {
	long := configured(func(c *readsplit.Config) { c.StickyWindow = time.Minute; steady(c) })
	process := context.Background()
	far := func(t *readsplit.Token) { t.Positions[0].LSN += 1 << 40 }
	other := func(t *readsplit.Token) { t.Positions[0].System++ }
	restarted := func(t *readsplit.Token) { t.Positions[0].Incarnation++ }
	unsure := func(t *readsplit.Token) { t.Positions, t.Unsure = nil, t.Expires }
	overdue := func(t *readsplit.Token) { t.Positions, t.Unsure = nil, t.Issued.Add(-time.Minute) }
	tests := map[string]struct {
		change             func(*readsplit.Token)
		own                policy.Reason // of the session that joined it
		unsigned, bySigned bool          // whether others see what the primary has
	}{
		"genuine":                  {nil, policy.ReasonBehindSession, true, true},
		"beyond the primary":       {far, policy.ReasonUnsure, false, false},
		"of another cluster":       {other, policy.ReasonUnsure, false, true},
		"of another start":         {restarted, policy.ReasonUnsure, false, true},
		"unsure":                   {unsure, policy.ReasonUnsure, false, true},
		"unsure until a while ago": {overdue, policy.ReasonBehindSession, false, true},
	}
	for name, c := range tests {
		for _, signed := range []bool{false, true} {
			form, keys := "unsigned", [][]byte(nil)
			options := []dbOption{long, configured(func(c *readsplit.Config) { c.MaxWait = readsplit.Off })}
			if signed {
				form, keys = "signed", [][]byte{signingKey}
				options = append(options, configured(signing))
			}
			t.Run(name+"/"+form, func(t *testing.T) {
				x := newTrap(t, options...)
				x.stale(t)
				s := joined(encoded(t, x.token(t), c.change, keys...))
				own := x.WithContext(readsplit.WithSession(process, s))
				eventually(t, "the session to be kept on the primary", func() bool {
					tx := own.Raw(whoSQL).Scan(new(string))
					require.NoError(t, tx.Error)
					require.False(t, isReplica(served(t, own)))
					return reason(t, tx) == c.own // position_pending, until the primary was asked
				})
				binds := c.unsigned
				if signed {
					binds = c.bySigned
				}
				for range 5 {
					if !binds {
						eventually(t, "a read without a session on a replica", func() bool { return isReplica(served(t, x.WithContext(process))) })
						continue
					}
					require.Equal(t, 2, seesBooks(t, x.WithContext(process)))
				}
				if binds {
					assert.Equal(t, 1, seesBooks(t, x.WithContext(readsplit.Stale(process))), "Stale gives up what is not a session's own")
				}
				db, _ := x.session()
				assert.Equal(t, 1, seesBooks(t, db), "nor is another session bound")
			})
		}
	}
}

// A forged position neither hides a genuine one nor is taken for it, however many
// there are.
func TestForgedTokensHideNoGenuineOne(t *testing.T) {
	process := context.Background()
	for name, forged := range map[string]int{"one": 1, "more than are kept": 50} {
		t.Run(name, func(t *testing.T) {
			x := newTrap(t, configured(steady))
			x.stale(t)
			genuine := encoded(t, x.token(t), nil)
			for n := range forged {
				text := encoded(t, x.token(t), func(t *readsplit.Token) { t.Positions[0].LSN += lsn.LSN(1<<40 + n) })
				joined(text)
				if n == forged/2 {
					joined(genuine)
				}
			}
			require.Equal(t, 2, seesBooks(t, x.WithContext(process)))
		})
	}
}

// An uncommitted record on a quiet primary, which no replica reaches for seconds, and
// a forged token: nobody else waits for it.
func TestForgedTokenBesideAnOpenTransaction(t *testing.T) {
	x := newTrap(t)
	tx, err := x.admin.BeginTx(limit(t), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback()) }()
	_, err = tx.ExecContext(limit(t), "INSERT INTO books_t (title) VALUES ('open')")
	require.NoError(t, err)
	s := joined(encoded(t, x.token(t), func(t *readsplit.Token) { t.Positions[0].LSN += 1 << 40 }))
	require.Equal(t, "primary", served(t, x.WithContext(readsplit.WithSession(t.Context(), s))))
	onReplica := 0
	for range 50 {
		if isReplica(served(t, x.WithContext(context.Background()))) {
			onReplica++
		}
	}
	assert.GreaterOrEqual(t, onReplica, 45)
}

// Without the primary no token can be proven. Those that are unsigned must not keep
// the replicas from serving everybody else.
func TestUnsignedTokensWhileThePrimaryIsLost(t *testing.T) {
	for name, keys := range map[string][][]byte{"unsigned": nil, "signed": {signingKey}} {
		t.Run(name, func(t *testing.T) {
			c := breakable(t)
			d := newDB(t, c, configured(quick), configured(func(c *readsplit.Config) { c.TokenKeys = keys }))
			counters(t, d, 1)
			require.NoError(t, c.WaitCaughtUp(t.Context()))
			d.eligible(t, "replica1", "replica2")
			at := d.plugin.Status().Primary.Position
			undo := injected(t)(c.Primary().Stop(limit(t)))
			defer undone(t, undo)
			process := context.Background()
			read := func() error {
				tx := d.WithContext(process).Raw(whoSQL).Scan(new(string))
				if tx.Error != nil {
					return tx.Error
				}
				if reason(t, tx) != policy.ReasonPrimaryLost {
					return assert.AnError
				}
				return nil
			}
			eventually(t, "replicas to serve without the primary", func() bool { return read() == nil })
			now := time.Now()
			k, err := session.NewKeys(keys...)
			require.NoError(t, err)
			for _, position := range []lsn.LSN{1, 1 << 40} {
				beyond := at
				beyond.LSN += position
				text, err := k.Encode(readsplit.Token{Issued: now, Expires: now.Add(time.Minute), Positions: []lsn.Position{beyond}})
				require.NoError(t, err)
				joined(text)
			}
			text, err := k.Encode(readsplit.Token{Issued: now, Expires: now.Add(time.Minute), Unsure: now.Add(time.Minute)})
			require.NoError(t, err)
			joined(text)
			if keys != nil {
				require.Error(t, read(), "nobody can have forged that there is something to see")
				return
			}
			for range 10 {
				require.NoError(t, read())
			}
		})
	}
}
