package desk

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/examples/existing-app/internal/servers"
)

// opened is the application that the tests share; each begins with empty tables.
var opened *App

func TestMain(m *testing.M) {
	servers.Main(m, func() error {
		if opened == nil {
			return nil
		}
		return opened.Close()
	})
}

func newApp(t *testing.T) *App {
	t.Helper()
	if opened == nil {
		cfg, err := ConfigFromEnv()
		require.NoError(t, err)
		opened, err = Open(cfg)
		require.NoError(t, err)
	}
	require.NoError(t, opened.db.Exec("TRUNCATE customers, agents, tags, tickets, ticket_tags, comments, events, jobs, mails RESTART IDENTITY").Error)
	return opened
}

// browser is one person at the application, by HTTP.
type browser struct {
	t      *testing.T
	client *http.Client
	url    string
}

func newBrowser(t *testing.T, app *App, name string) *browser {
	t.Helper()
	server := httptest.NewTLSServer(app.Handler())
	t.Cleanup(server.Close)
	b := &browser{t: t, client: server.Client(), url: server.URL}
	var err error
	b.client.Jar, err = cookiejar.New(nil)
	require.NoError(t, err)
	b.as(name)
	return b
}

// as signs in as somebody else.
func (b *browser) as(name string) {
	b.do("POST", "/login", url.Values{"name": {name}}, http.StatusNoContent, nil)
}

func (b *browser) do(method, path string, form url.Values, status int, v any) string {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := b.client.Do(req)
	require.NoError(b.t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	require.NoError(b.t, res.Body.Close())
	require.Equal(b.t, status, res.StatusCode, "%s %s: %s", method, path, text)
	if v != nil {
		require.NoError(b.t, json.Unmarshal(text, v), "%s", text)
	}
	return string(text)
}

func (b *browser) open(subject string, tags ...string) int64 {
	b.t.Helper()
	var t Ticket
	b.do("POST", "/tickets", url.Values{"subject": {subject}, "text": {"please help"}, "tag": tags}, http.StatusCreated, &t)
	require.Equal(b.t, subject, t.Subject)
	require.Len(b.t, t.Tags, len(tags))
	return t.Number
}

func (b *browser) list(query string) (numbers []int64) {
	b.t.Helper()
	var answer struct {
		Tickets []Ticket
		Total   int
	}
	b.do("GET", "/tickets?"+query, nil, http.StatusOK, &answer)
	for _, t := range answer.Tickets {
		numbers = append(numbers, t.Number)
	}
	require.GreaterOrEqual(b.t, answer.Total, len(numbers))
	return numbers
}

func (b *browser) show(number int64) (t Ticket) {
	b.t.Helper()
	b.do("GET", at(number, ""), nil, http.StatusOK, &t)
	return t
}

func at(number int64, what string) string { return fmt.Sprintf("/tickets/%d%s", number, what) }

func TestLifeOfATicket(t *testing.T) {
	b := newBrowser(t, newApp(t), "ada")
	n := b.open("the printer is on fire", "printer", "urgent")
	assert.Equal(t, []int64{n}, b.list("customer=ada@example.com"))
	assert.Equal(t, []int64{n}, b.list("tag=printer&status=new"))

	b.as("bob")
	b.do("POST", "/agents", url.Values{"name": {"bob"}, "capacity": {"2"}}, http.StatusOK, nil)
	b.do("POST", at(n, "/assign"), url.Values{"agent": {"bob"}}, http.StatusNoContent, nil)
	got := b.show(n)
	require.NotNil(t, got.Agent)
	assert.Equal(t, "bob", got.Agent.Name)
	assert.Equal(t, StatusOpen, got.Status)
	b.do("POST", at(n, "/comments"), url.Values{"text": {"use water"}}, http.StatusNoContent, nil)
	assert.Equal(t, StatusWaiting, b.show(n).Status, "the agent has said something")
	b.as("ada")
	b.do("POST", at(n, "/comments"), url.Values{"text": {"it is wet now"}}, http.StatusNoContent, nil)
	got = b.show(n)
	assert.Equal(t, StatusOpen, got.Status)
	require.Len(t, got.Comments, 2)
	assert.Equal(t, []string{"bob", "ada"}, []string{got.Comments[0].Author, got.Comments[1].Author})

	b.do("POST", at(n, "/close"), nil, http.StatusNoContent, nil)
	b.do("POST", at(n, "/close"), nil, http.StatusConflict, nil)
	b.do("POST", at(n, "/comments"), url.Values{"text": {"thanks"}}, http.StatusConflict, nil)
	assert.Empty(t, b.list("status=open"))
	var history []string
	b.do("GET", at(n, "/history"), nil, http.StatusOK, &history)
	assert.Equal(t, []string{"opened", "assigned to bob", "comment by bob", "comment by ada", "closed"}, history)
}

func TestDeletedTicketsComeBack(t *testing.T) {
	b := newBrowser(t, newApp(t), "ada")
	n := b.open("a mistake")
	b.do("DELETE", at(n, ""), nil, http.StatusNoContent, nil)
	b.do("GET", at(n, ""), nil, http.StatusNotFound, nil)
	b.do("DELETE", at(n, ""), nil, http.StatusNotFound, nil)
	assert.Empty(t, b.list(""))
	b.do("POST", at(n, "/restore"), nil, http.StatusNoContent, nil)
	assert.Equal(t, []int64{n}, b.list(""))
	b.do("POST", at(n, "/restore"), nil, http.StatusNotFound, nil)
}

func TestMerge(t *testing.T) {
	b := newBrowser(t, newApp(t), "ada")
	one, two := b.open("the printer again", "printer"), b.open("printer!", "loud")
	b.do("POST", at(two, "/comments"), url.Values{"text": {"hello?"}}, http.StatusNoContent, nil)
	b.do("POST", at(two, "/merge"), url.Values{"into": {fmt.Sprint(one)}}, http.StatusNoContent, nil)
	got := b.show(one)
	assert.Len(t, got.Comments, 1)
	assert.Len(t, got.Tags, 2)
	b.do("GET", at(two, ""), nil, http.StatusNotFound, nil)
	b.do("POST", at(one, "/merge"), url.Values{"into": {fmt.Sprint(one)}}, http.StatusBadRequest, nil)
	b.do("POST", at(one, "/merge"), url.Values{"into": {fmt.Sprint(two)}}, http.StatusNotFound, nil)
	assert.Len(t, b.show(one).Comments, 1, "what failed has changed nothing")
}

// TestCapacity: agents are given tickets by many at once, and never more than they take.
func TestCapacity(t *testing.T) {
	app := newApp(t)
	b := newBrowser(t, app, "ada")
	b.do("POST", "/agents", url.Values{"name": {"bob"}, "capacity": {"3"}}, http.StatusOK, nil)
	var numbers []int64
	for i := range 6 {
		numbers = append(numbers, b.open(fmt.Sprint("question ", i)))
	}
	results := make([]error, len(numbers))
	var all sync.WaitGroup
	for i, n := range numbers {
		all.Go(func() { results[i] = app.tickets.Assign(t.Context(), n, "bob") })
	}
	all.Wait()
	busy := 0
	for _, err := range results {
		if err != nil {
			assert.ErrorIs(t, err, ErrBusy)
			busy++
		}
	}
	assert.Equal(t, 3, busy)
	_, total, err := app.tickets.tickets.List(t.Context(), Filter{Agent: "bob"})
	require.NoError(t, err)
	assert.EqualValues(t, 3, total)
}

func TestJobs(t *testing.T) {
	app := newApp(t)
	b := newBrowser(t, app, "ada")
	n := b.open("where is my parcel")
	b.do("POST", at(n, "/comments"), url.Values{"text": {"it came"}}, http.StatusNoContent, nil)
	done, err := app.Work(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, done)
	var mails []Mail
	require.NoError(t, app.db.WithContext(t.Context()).Order("id").Find(&mails).Error)
	require.Len(t, mails, 2)
	assert.Equal(t, "We have got your question.", mails[0].Text)
	assert.Equal(t, "it came", mails[1].Text)
	assert.Equal(t, "ada@example.com", mails[1].To)

	require.NoError(t, app.queue.Put(t.Context(), "nonsense", 1))
	done, err = app.Work(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, done)
	var job Job
	require.NoError(t, app.db.WithContext(t.Context()).Last(&job).Error)
	assert.Contains(t, job.LastError, "no kind of job")
	assert.Nil(t, job.DoneAt, "it is tried again")
	assert.True(t, job.RunAt.After(time.Now()))
}

func TestEscalate(t *testing.T) {
	app := newApp(t)
	b := newBrowser(t, app, "ada")
	one := b.open("nobody cares")
	two := b.open("somebody cares")
	b.do("POST", at(two, "/close"), nil, http.StatusNoContent, nil)
	numbers, err := app.tickets.tickets.Escalate(t.Context(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	assert.Equal(t, []int64{one}, numbers)
	got, err := app.tickets.tickets.ByNumber(t.Context(), one)
	require.NoError(t, err)
	assert.Equal(t, 1, got.Priority)
	history, err := app.tickets.tickets.History(t.Context(), one)
	require.NoError(t, err)
	assert.Equal(t, []string{"opened", "escalated"}, history)
}

func TestReports(t *testing.T) {
	b := newBrowser(t, newApp(t), "ada")
	b.do("POST", "/agents", url.Values{"name": {"bob"}, "capacity": {"5"}}, http.StatusOK, nil)
	for i := range 3 {
		n := b.open(fmt.Sprint("parcel ", i))
		if i > 0 {
			b.do("POST", at(n, "/assign"), url.Values{"agent": {"bob"}}, http.StatusNoContent, nil)
			b.do("POST", at(n, "/comments"), url.Values{"text": {"searching the warehouse"}}, http.StatusNoContent, nil)
		}
		if i == 2 {
			b.do("POST", at(n, "/close"), nil, http.StatusNoContent, nil)
		}
	}
	var lines []Line
	b.do("GET", "/report", nil, http.StatusOK, &lines)
	assert.Equal(t, []Line{{Agent: "bob", Open: 1, Closed: 1, Comments: 1}, {Open: 1}}, lines)
	var hits []Hit
	b.do("GET", "/search?q=warehouses", nil, http.StatusOK, &hits)
	assert.Len(t, hits, 2)
	b.do("GET", "/search?q=parcel", nil, http.StatusOK, &hits)
	assert.Len(t, hits, 3)
	text := b.do("GET", "/export", nil, http.StatusOK, nil)
	assert.Equal(t, 4, strings.Count(text, "\n"), text)
}

func TestMistakes(t *testing.T) {
	b := newBrowser(t, newApp(t), "ada")
	b.do("POST", "/tickets", url.Values{"subject": {" "}}, http.StatusBadRequest, nil)
	b.do("GET", "/tickets/1", nil, http.StatusNotFound, nil)
	b.do("POST", "/agents", url.Values{"name": {"bob"}, "capacity": {"many"}}, http.StatusBadRequest, nil)
	n := b.open("a question")
	b.do("POST", at(n, "/assign"), url.Values{"agent": {"nobody"}}, http.StatusNotFound, nil)
	b.do("POST", at(n, "/comments"), url.Values{"text": {""}}, http.StatusBadRequest, nil)
	b.client.Jar, _ = cookiejar.New(nil)
	b.do("GET", "/tickets", nil, http.StatusUnauthorized, nil)
}
