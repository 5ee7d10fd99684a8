package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/sqlserver/database"
	"github.com/readsplit/readsplit/examples/sqlserver/shop"
	"github.com/readsplit/readsplit/readonlyguard"
	"github.com/readsplit/readsplit/testenv/tdsenv"
)

func nothing(string) string { return "" }

// opened is the shop on a double, with its pages.
type opened struct {
	servers database.Servers
	plugin  *readsplit.Plugin
	orders  *shop.Repository
	url     string
}

func start(t *testing.T) *opened {
	t.Helper()
	var o opened
	require.NoError(t, o.servers.Fill(t.Context(), nothing, tdsenv.Config{}))
	db, plugin, err := open(t.Context(), &o.servers)
	require.NoError(t, err)
	o.plugin, o.orders = plugin, shop.New(db)
	server := httptest.NewServer(handler(o.orders, http.NotFoundHandler()))
	o.url = server.URL
	t.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		assert.NoError(t, plugin.Close(ctx))
		assert.NoError(t, database.ClosePool(db))
		assert.NoError(t, o.servers.Close(ctx))
	})
	return &o
}

// browser is a customer's.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	c := &http.Client{Jar: jar, Transport: &http.Transport{}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func (o *opened) ask(t *testing.T, c *http.Client, method, path string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, o.url+path, http.NoBody)
	require.NoError(t, err)
	res, err := c.Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode, "%s", text)
	require.NoError(t, json.Unmarshal(text, into), "%s", text)
}

// TestShop: an order is in its customer's list at once although no secondary redoes
// anything; the report may be old, and comes from a secondary all the same.
func TestShop(t *testing.T) {
	o := start(t)
	carol := browser(t)
	var sales []shop.Sales
	require.Eventually(t, func() bool {
		st := o.plugin.Status()
		return st.Replicas[0].Up && st.Replicas[1].Up
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, o.servers.Double.WaitCaughtUp(t.Context()))
	for _, r := range o.servers.Double.Replicas() {
		_, err := r.PauseRedo(t.Context())
		require.NoError(t, err)
	}
	var placed shop.Order
	o.ask(t, carol, http.MethodPost, "/customers/7/orders?book=3", &placed)
	require.NotZero(t, placed.ID)
	var lines []shop.Line
	o.ask(t, carol, http.MethodGet, "/customers/7/orders", &lines)
	require.NotEmpty(t, lines)
	assert.Equal(t, placed.ID, lines[0].OrderID)
	assert.Equal(t, "READ_WRITE", lines[0].Updateability)

	var book shop.Book
	o.ask(t, browser(t), http.MethodGet, "/books/3", &book)
	assert.EqualValues(t, 1, book.Sold, "the stock is current for everybody")

	o.ask(t, browser(t), http.MethodGet, "/report", &sales)
	assert.Empty(t, sales, "whoever wrote nothing gets an old report")
	require.NoError(t, o.servers.Double.UndoAll())
	require.NoError(t, o.servers.Double.WaitCaughtUp(t.Context()))
	require.Eventually(t, func() bool {
		o.ask(t, browser(t), http.MethodGet, "/report", &sales)
		return len(sales) == 1 && sales[0].Updateability == "READ_ONLY"
	}, time.Minute, 20*time.Millisecond)
	assert.Equal(t, "Book 3", sales[0].Title)
	assert.Contains(t, []string{"SQL2", "SQL3"}, sales[0].ServedBy)
}

// TestGuard: what writes although it promised to read panics before anything is sent.
func TestGuard(t *testing.T) {
	o := start(t)
	ctx := readsplit.ReadOnly(readsplit.WithSession(t.Context(), readsplit.NewSession()))
	for name, write := range map[string]func(context.Context, *shop.Order) error{
		"Create": o.orders.Place, "an explicit transaction": o.orders.PlaceAndCount,
		"OUTPUT through Raw": o.orders.PlaceBySQL, "SkipDefaultTransaction": o.orders.PlaceQuickly,
	} {
		func() {
			defer func() {
				_, refused := recover().(*readonlyguard.Error)
				assert.True(t, refused, name)
			}()
			assert.Fail(t, name, "it returned %v", write(ctx, &shop.Order{CustomerID: 1, BookID: 1, Quantity: 1}))
		}()
	}
	lines, err := o.orders.Orders(ctx, 1)
	require.NoError(t, err)
	assert.Len(t, lines, 1, "nothing was placed")
}

// TestProgram: the first line says what this runs on, the second where the shop is, and the
// others how to have the double examined.
func TestProgram(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, nil, nothing, writer) }()
	lines := bufio.NewScanner(reader)
	require.True(t, lines.Scan())
	assert.Contains(t, lines.Text(), "ested against a TDS protocol double")
	require.True(t, lines.Scan())
	_, rest, found := strings.Cut(lines.Text(), "http://")
	require.True(t, found, lines.Text())
	address, _, _ := strings.Cut(rest, "/")
	require.True(t, lines.Scan())
	assert.Contains(t, lines.Text(), "export READSPLIT_PRIMARY='sqlserver://", "what the doctor is told")
	o := opened{url: "http://" + address}
	var lists []shop.Line
	o.ask(t, browser(t), http.MethodGet, "/customers/1/orders", &lists)
	assert.Len(t, lists, 1)
	cancel()
	require.NoError(t, <-ended)
}

func TestArguments(t *testing.T) {
	for name, c := range map[string]struct {
		args, env []string
		problem   string
	}{
		"an argument":           {[]string{"serve"}, nil, "no argument"},
		"replicas alone":        {[]string{"-replica", "sql2=sqlserver://x"}, nil, "no primary"},
		"a replica, no name":    {[]string{"-replica", "sqlserver://sa:hidden@sql2?database=shop"}, nil, "name=DSN"},
		"the environment":       {nil, []string{"sqlserver://127.0.0.1:0?database=shop", "sql2=x\n\nsqlserver://sa:hidden@x=y"}, "READSPLIT_REPLICAS, line 3"},
		"replicas in it, alone": {nil, []string{"", "sql2=x"}, "no primary"},
	} {
		err := run(t.Context(), c.args, func(name string) string {
			return map[string]string{"READSPLIT_PRIMARY": fmt.Sprint(append(c.env, "", "")[0]), "READSPLIT_REPLICAS": append(c.env, "", "")[1]}[name]
		}, io.Discard)
		require.ErrorContains(t, err, c.problem, name)
		assert.NotContains(t, err.Error(), "hidden", name)
	}
}
