package readsplit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/testenv"
)

// still stops the replay of all replicas: what is written from now on is on the
// primary alone, and a read that should not have gone to a replica misses it.
func still(t testing.TB, c *testenv.Cluster) (undo func()) {
	t.Helper()
	var undos []testenv.Undo
	for _, r := range c.Replicas() {
		undos = append(undos, injected(t)(r.PauseReplay(t.Context())))
	}
	return func() {
		for _, u := range undos {
			undone(t, u)
		}
	}
}

// boundless lifts MaxLag, so that replicas that stand still stay eligible for
// everybody whose writes they have.
func boundless(c *readsplit.Config) { c.MaxLag = readsplit.Off; steady(c) }

// steady keeps a test that holds the processor for a second from making the news of
// the replicas too old.
func steady(c *readsplit.Config) { c.MaxSampleAge = 20 * time.Second }

// elsewhere is a session as another process has it after it was given a token.
func elsewhere(t testing.TB, token string) context.Context {
	t.Helper()
	require.NotEmpty(t, token)
	s := readsplit.NewSession()
	s.Join(token)
	return readsplit.WithSession(context.Background(), s)
}

func tokenOf(t testing.TB, ctx context.Context) string {
	t.Helper()
	token, err := readsplit.SessionFrom(ctx).Token(ctx)
	require.NoError(t, err)
	return token
}

// R4: a write on one process, a read 5 ms later on another, whose newest sample of
// the primary is older than the write. The token counts for what it says.
func TestR04TokenIsNotClampedToAnOldSample(t *testing.T) {
	c := cluster(t)
	writer := newDB(t, c)
	counters(t, writer, 1)
	reader := newDB(t, c, inDatabase(writer.name), configured(boundless), configured(func(c *readsplit.Config) {
		c.SampleEvery, c.MaxSampleAge, c.StickyWindow = time.Hour, time.Hour, 2*time.Hour
	}))
	for name, replicas := range map[string]func() func(){
		"healthy":        func() func() { return func() {} },
		"standing still": func() func() { return still(t, c) },
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, c.WaitCaughtUp(t.Context()))
			undo := replicas()
			defer undo()
			onReplica := 0
			for n := 1; n <= 200; n++ {
				ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
				require.NoError(t, writer.WithContext(ctx).Exec("UPDATE counters SET n = ? WHERE id = 1", n).Error)
				token := tokenOf(t, ctx)
				var row struct {
					N      int
					Server string
				}
				err := reader.WithContext(elsewhere(t, token)).Raw("SELECT n, current_setting('cluster_name') AS server FROM counters WHERE id = 1").Scan(&row).Error
				require.NoError(t, err)
				require.Equal(t, n, row.N, "on %s", row.Server)
				if row.Server != "primary" {
					onReplica++
				}
			}
			if name == "healthy" {
				assert.Positive(t, onReplica, "the token must let replicas serve")
			} else {
				assert.Zero(t, onReplica)
			}
			assert.Zero(t, reader.plugin.Status().Tokens)
		})
	}
}

// R3, R4: a token that cannot be what it says is never an error for the user who
// brings it and never lets a stale read through: the primary, and a counter.
func TestR04TokenThatIsNotToBeTrusted(t *testing.T) {
	c := cluster(t)
	keys := [][]byte{[]byte("the key of these servers"), []byte("the key before it, still known")}
	signed := configured(func(c *readsplit.Config) { c.TokenKeys = keys })
	d := newDB(t, c, configured(quick), configured(boundless), signed)
	counters(t, d, 1)
	ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
	require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = 1").Error)
	genuine := tokenOf(t, ctx)
	content, err := readsplit.Config{TokenKeys: keys}.ParseToken(genuine)
	require.NoError(t, err)
	require.Len(t, content.Positions, 1)

	encode := func(change func(*readsplit.Token), with ...[]byte) string {
		token := content
		token.Positions = append(token.Positions[:0:0], content.Positions...)
		change(&token)
		k, err := session.NewKeys(with...)
		require.NoError(t, err)
		text, err := k.Encode(token)
		require.NoError(t, err)
		return text
	}
	same := func(*readsplit.Token) {}
	flipped := []byte(genuine)
	flipped[len(flipped)/2] ^= 1
	refused, foreign, expired := readsplit.TokenCounts{Refused: 1}, readsplit.TokenCounts{Foreign: 1}, readsplit.TokenCounts{Expired: 1}
	tokens := map[string]struct {
		text string
		want readsplit.TokenCounts
	}{
		"damaged":            {string(flipped), refused},
		"truncated":          {genuine[:len(genuine)-4], refused},
		"cut to nothing":     {genuine[:3], refused},
		"not a token":        {"Bearer 0123456789", refused},
		"long":               {strings.Repeat(genuine, 1000), refused},
		"of another version": {"r2" + genuine[2:], refused},
		"unsigned":           {encode(same), refused},
		"another's key":      {encode(same, []byte("a key that nobody here knows")), refused},
		"another cluster's":  {encode(func(t *readsplit.Token) { t.Positions[0].System++ }, keys[0]), foreign},
		"another timeline's": {encode(func(t *readsplit.Token) { t.Positions[0].Timeline++ }, keys[0]), foreign},
		"another start's":    {encode(func(t *readsplit.Token) { t.Positions[0].Incarnation-- }, keys[0]), foreign},
		"beyond the primary": {encode(func(t *readsplit.Token) { t.Positions[0].LSN += 1 << 40 }, keys[0]), foreign},
		"issued in the future": {encode(func(t *readsplit.Token) {
			t.Issued, t.Expires = t.Issued.Add(time.Hour), t.Expires.Add(time.Hour)
		}, keys[0]), refused},
		"expired": {encode(func(t *readsplit.Token) {
			past := session.MaxTokenLifetime + time.Hour // there is no MaxLag here
			t.Issued, t.Expires = t.Issued.Add(-past), t.Expires.Add(-past)
		}, keys[0]), expired},
	}
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	sessions := map[string]context.Context{}
	func() {
		defer still(t, c)()
		// What no token tells: a write of the token's owner that the replicas lack.
		other := direct(t, c.Primary(), d.name)
		_, err := other.ExecContext(t.Context(), "UPDATE counters SET n = 2")
		require.NoError(t, err)
		for name, token := range tokens {
			before := d.plugin.Status().Tokens
			sessions[name] = elsewhere(t, token.text)
			var n int
			tx := d.WithContext(sessions[name]).Raw("SELECT n FROM counters WHERE id = 1").Scan(&n)
			require.NoError(t, tx.Error, name)
			decision, _ := readsplit.DecisionOf(tx)
			after := d.plugin.Status().Tokens
			counted := readsplit.TokenCounts{Refused: after.Refused - before.Refused, Foreign: after.Foreign - before.Foreign, Expired: after.Expired - before.Expired}
			assert.Equal(t, token.want, counted, name)
			if name == "expired" {
				// Genuine and old: its position counts, and the replicas have it.
				assert.Equal(t, policy.ReasonCaughtUp, decision.Reason, name)
				continue
			}
			assert.Equal(t, 2, n, "%s: on %s", name, decision.Server)
			assert.Equal(t, policy.ReasonUnsure, decision.Reason, name)
		}
		// An older key still verifies, and a valid token is served at once.
		valid := elsewhere(t, encode(same, keys[1]))
		assert.NotEqual(t, "primary", served(t, d.WithContext(valid)))
	}()
	for name, ctx := range sessions {
		eventually(t, name+": the window to end", func() bool { return served(t, d.WithContext(ctx)) != "primary" })
	}
}

// Promise 1: a token is taken after the commit, never before.
func TestTokenInsideATransaction(t *testing.T) {
	d := newDB(t, cluster(t))
	counters(t, d, 1)
	s := readsplit.NewSession()
	ctx := readsplit.WithSession(t.Context(), s)
	tx := d.WithContext(ctx).Begin()
	require.NoError(t, tx.Exec("UPDATE counters SET n = 1").Error)
	token, err := s.Token(ctx)
	require.ErrorIs(t, err, readsplit.ErrTokenInTransaction)
	require.Empty(t, token)
	require.NoError(t, tx.Commit().Error)
	require.NotEmpty(t, tokenOf(t, ctx))

	empty, err := readsplit.NewSession().Token(ctx)
	require.NoError(t, err)
	require.Empty(t, empty)
	empty, err = readsplit.SessionFrom(context.Background()).Token(ctx)
	require.NoError(t, err)
	require.Empty(t, empty)
}
