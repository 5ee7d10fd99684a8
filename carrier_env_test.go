package readsplit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// signingKey is the key of tests whose tokens are signed.
var signingKey = []byte("a key of these tests")

// signing gives a plugin the key.
func signing(c *readsplit.Config) { c.TokenKeys = [][]byte{signingKey} }

// written is the position of everything that was written until now, past the plugin
// too, as another process would have it in a token.
func (x *trap) written(t testing.TB) lsn.Position {
	t.Helper()
	var text string
	require.NoError(t, x.admin.QueryRowContext(limit(t), "SELECT pg_current_wal_flush_lsn()").Scan(&text))
	at, err := lsn.ParseLSN(text)
	require.NoError(t, err)
	h := x.plugin.Status().Primary.Position.History
	require.False(t, h.Zero())
	return lsn.Position{History: h, LSN: at}
}

// token is the content of a token of another process that has written everything
// until now.
func (x *trap) token(t testing.TB) readsplit.Token {
	t.Helper()
	now := time.Now()
	return readsplit.Token{Issued: now, Expires: now.Add(5 * time.Minute), Positions: []lsn.Position{x.written(t)}}
}

// encoded is a token's text, with a change made to its content.
func encoded(t testing.TB, content readsplit.Token, change func(*readsplit.Token), keys ...[]byte) string {
	t.Helper()
	content.Positions = append([]lsn.Position(nil), content.Positions...)
	if change != nil {
		change(&content)
	}
	k, err := session.NewKeys(keys...)
	require.NoError(t, err)
	text, err := k.Encode(content)
	require.NoError(t, err)
	return text
}

// joined is a session that has joined a token.
func joined(token string) *readsplit.Session {
	s := readsplit.NewSession()
	s.Join(token)
	return s
}
