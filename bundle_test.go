package readsplit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

var ordersKey, billingKey = []byte("the key of the orders alone"), []byte("the key of the billing alone")

func ofOrders(c *readsplit.Config) { c.Service, c.TokenKeys = "orders", [][]byte{ordersKey} }

// billingToken is a token that only another service, over other servers, can read.
func billingToken(t testing.TB, at lsn.LSN) string {
	t.Helper()
	keys, err := session.NewKeys(billingKey)
	require.NoError(t, err)
	text, err := keys.Encode(session.Token{
		Issued: time.Now(), Expires: time.Now().Add(time.Hour),
		Positions: []lsn.Position{{History: lsn.History{System: 77, Timeline: 1, Incarnation: 1}, LSN: at}},
	})
	require.NoError(t, err)
	return text
}

func partsOf(t testing.TB, text string) session.Bundle {
	t.Helper()
	b, err := session.ParseBundle(text)
	require.NoError(t, err)
	return b
}

func part(t testing.TB, text, service string) string {
	t.Helper()
	tokens, lost := partsOf(t, text).Tokens(service)
	require.False(t, lost)
	require.Len(t, tokens, 1, text)
	return tokens[0]
}

// A service joins its own part, and passes on what it cannot read.
func TestTokensOfSeveralServices(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(boundless), configured(patient), configured(ofOrders))
	counters(t, d, 1)
	billing := billingToken(t, 5)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	defer still(t, c)()

	s := readsplit.NewSession()
	s.Join("b1~billing~" + billing)
	assert.False(t, s.Changed(), "what concerns others alone changes nothing")
	ctx := readsplit.WithSession(t.Context(), s)
	assert.NotEqual(t, "primary", served(t, d.WithContext(ctx)))
	assert.Equal(t, "b1~billing~"+billing, tokenOf(t, ctx))
	require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = 1 WHERE id = 1").Error)
	text := tokenOf(t, ctx)
	assert.Equal(t, billing, part(t, text, "billing"), "passed on untouched")
	own, err := readsplit.Config{TokenKeys: [][]byte{ordersKey}}.ParseToken(part(t, text, "orders"))
	require.NoError(t, err)
	require.Len(t, own.Positions, 1)
	same, err := readsplit.Config{Service: "orders", TokenKeys: [][]byte{ordersKey}}.ParseToken(text)
	require.NoError(t, err)
	assert.Equal(t, own, same)

	next := elsewhere(t, text)
	assert.Equal(t, "primary", served(t, d.WithContext(next)))
	assert.False(t, readsplit.SessionFrom(next).Changed())
	assert.Equal(t, billing, part(t, tokenOf(t, next), "billing"))
	assert.Equal(t, billing, part(t, readsplit.SessionFrom(next).TokenNow(), "billing"))

	// What a call to the other service brought back.
	further := billingToken(t, 6)
	readsplit.SessionFrom(next).JoinAnswer("", "b1~billing~"+further)
	assert.True(t, readsplit.SessionFrom(next).Changed(), "whoever carries the session must hear of it")
	assert.Equal(t, further, part(t, tokenOf(t, next), "billing"))
	assert.Equal(t, own.Positions, must(t, part(t, tokenOf(t, next), "orders")).Positions)
	assert.Zero(t, d.plugin.Status().Tokens)
}

func must(t testing.TB, text string) readsplit.Token {
	t.Helper()
	token, err := readsplit.Config{TokenKeys: [][]byte{ordersKey}}.ParseToken(text)
	require.NoError(t, err)
	return token
}

// A bundle that cannot be trusted is never an error: the primary for the service
// that it concerns, and a counter.
func TestBundleThatIsNotToBeTrusted(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(quick), configured(boundless), configured(patient), configured(ofOrders))
	counters(t, d, 1)
	ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
	require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = 1").Error)
	own := part(t, tokenOf(t, ctx), "orders")
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	defer still(t, c)()
	require.NotEqual(t, "primary", served(t, d.WithContext(nobody())), "what was written above is judged before more is")
	other := direct(t, c.Primary(), d.name)
	_, err := other.ExecContext(t.Context(), "UPDATE counters SET n = 2")
	require.NoError(t, err)
	for name, token := range map[string]struct {
		text    string
		refused uint64
	}{
		"own part":              {"b1~orders~" + own, 0},
		"rubbish for others":    {"b1~billing~rubbish~orders~" + own, 0},
		"lost by others":        {"b1~billing~~orders~" + own, 0},
		"nothing for us":        {"b1~billing~rubbish", 0},
		"crowded, with ours":    {"b1~*~~orders~" + own, 0},
		"of before the name":    {own, 0},
		"rubbish for us":        {"b1~orders~rubbish", 1},
		"forged":                {"b1~orders~" + own[:len(own)-2] + "AA", 1},
		"another's key":         {"b1~orders~" + billingToken(t, 5), 1},
		"one of two is forged":  {"b1~orders~" + own + "~orders~rubbish", 1},
		"lost":                  {"b1~orders~", 1},
		"crowded, without ours": {"b1~*~~billing~rubbish", 1},
		"damaged":               {"b1~orders~" + own + "~", 1},
		"oversized":             {"b1~orders~" + strings.Repeat(own+"~orders~", 100) + own, 1},
		"oversized, bare":       {strings.Repeat(own, 100), 1},
	} {
		before := d.plugin.Status().Tokens
		ctx := elsewhere(t, token.text)
		var n int
		tx := d.WithContext(ctx).Raw("SELECT n FROM counters WHERE id = 1").Scan(&n)
		require.NoError(t, tx.Error, name)
		decision, _ := readsplit.DecisionOf(tx)
		after := d.plugin.Status().Tokens
		assert.EqualValues(t, token.refused, after.Refused-before.Refused, name)
		assert.Equal(t, before.Foreign, after.Foreign, name)
		if token.refused == 0 {
			assert.Equal(t, 1, n, "%s: %s", name, decision.Reason) // the replicas have what it says
			continue
		}
		assert.Equal(t, 2, n, name)
		assert.Equal(t, policy.ReasonUnsure, decision.Reason, name)
		assert.True(t, readsplit.SessionFrom(ctx).Changed(), "%s: whoever carries it gets another", name)
	}
}

// A process without a database of its own, such as a gateway, passes everything on.
func TestTokensThroughAProcessWithoutAPlugin(t *testing.T) {
	s := readsplit.NewSession()
	ctx := readsplit.WithSession(t.Context(), s)
	for range 20 {
		s.Join("b1~billing~b0~orders~o0")
	}
	require.Equal(t, "b1~billing~b0~orders~o0", tokenOf(t, ctx))
	require.False(t, s.Changed())
	s.JoinAnswer("", "b1~orders~o1")
	require.True(t, s.Changed())
	require.Equal(t, "b1~billing~b0~orders~o0~orders~o1", tokenOf(t, ctx))
	require.Equal(t, tokenOf(t, ctx), s.TokenNow())
	s.JoinAnswer("", "")
	s.Join("b1~not a bundle")
	s.Join("bare")
	require.Equal(t, "b1~~bare~billing~b0~orders~o0~orders~o1", tokenOf(t, ctx))
}

// A token stands under one name, so all plugins of a process must have the same.
func TestServiceIsOfTheProcess(t *testing.T) {
	d := newDB(t, cluster(t))
	f := fieldTest{c: d.cluster, database: d.name}
	f.service(t)
}

// service needs another plugin to be in use.
func (f fieldTest) service(t *testing.T) {
	db, err := gorm.Open(postgres.Open(f.c.Primary().DSNFor(f.database)), &gorm.Config{})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	defer func() { require.NoError(t, pool.Close()) }()
	err = db.Use(readsplit.New(readsplit.Config{Service: "orders"}))
	require.ErrorContains(t, err, `readsplit: Config.Service is "orders", and "" in another plugin of this process`)
	err = db.Use(readsplit.New(readsplit.Config{Service: "my orders"}))
	require.ErrorContains(t, err, `readsplit: Config.Service: "my orders" is not the name of a service`)
}

// Whoever takes up what others committed sees it, without a token of theirs.
func TestCatchUp(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(boundless), configured(patient))
	counters(t, d, 1)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	undo := still(t, c)
	require.NotEqual(t, "primary", served(t, d.WithContext(nobody())), "what was written above is judged before more is")
	_, err := direct(t, c.Primary(), d.name).ExecContext(t.Context(), "UPDATE counters SET n = 1")
	require.NoError(t, err)
	n := func(ctx context.Context) (n int) {
		require.NoError(t, d.WithContext(ctx).Raw("SELECT n FROM counters WHERE id = 1").Scan(&n).Error)
		return n
	}
	require.Equal(t, 0, n(nobody()))
	s := readsplit.NewSession()
	ctx := readsplit.WithSession(t.Context(), s)
	require.False(t, s.Changed())
	s.CatchUp()
	require.True(t, s.Changed())
	require.Equal(t, 1, n(ctx))
	require.Equal(t, 1, n(elsewhere(t, tokenOf(t, ctx))))
	require.Equal(t, 0, n(nobody()), "nobody else is bound by it")
	undo()
	eventually(t, "a replica to serve it", func() bool { return served(t, d.WithContext(ctx)) != "primary" })
	require.Equal(t, 1, n(ctx))
}
