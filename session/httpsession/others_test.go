package httpsession_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/session/httpsession"
)

// A gateway without a database calls services for its users, and their next request
// says what those answered: also when two requests overlapped, and for as long as the
// services' tokens live.
func TestGatewayTellsWhatOtherServicesAnswered(t *testing.T) {
	keys, err := session.NewKeys([]byte("the key of the billing alone"))
	require.NoError(t, err)
	lasting, err := keys.Encode(session.Token{Issued: time.Now(), Expires: time.Now().Add(3 * time.Hour), Unsure: time.Now().Add(time.Second)})
	require.NoError(t, err)
	sessions, err := httpsession.New(httpsession.Options{Insecure: true}) // no TLS here
	require.NoError(t, err)
	arrived, goOn := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(sessions.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := readsplit.SessionFrom(r.Context())
		s.JoinAnswer("", r.FormValue("answer"))
		if r.FormValue("wait") != "" {
			arrived <- struct{}{}
			<-goOn
		}
		if r.FormValue("answer") == "" {
			_, _ = io.WriteString(w, s.TokenNow())
		}
	})))
	defer server.Close()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar, Timeout: 30 * time.Second}
	ask := func(query string) ([]*http.Cookie, string) {
		res, err := client.Get(server.URL + "/?" + query)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.Cookies(), string(text)
	}
	cookies, text := ask("")
	assert.Empty(t, text)
	assert.Empty(t, cookies)

	slow := make(chan struct{})
	go func() {
		defer close(slow)
		res, err := client.Get(server.URL + "/?wait=1&answer=b1~orders~o1")
		if assert.NoError(t, err) {
			assert.NoError(t, res.Body.Close())
		}
	}()
	<-arrived
	cookies, _ = ask("answer=" + url.QueryEscape("b1~billing~"+lasting))
	require.Len(t, cookies, 1)
	assert.Greater(t, cookies[0].MaxAge, 2*60*60)
	close(goOn)
	<-slow
	cookies, text = ask("")
	assert.Equal(t, "b1~billing~"+lasting+"~orders~o1", text)
	require.NotEmpty(t, cookies, "two cookies become one")
	parsed, err := url.Parse(server.URL)
	require.NoError(t, err)
	assert.Len(t, jar.Cookies(parsed), 1)
	cookies, text = ask("")
	assert.Equal(t, "b1~billing~"+lasting+"~orders~o1", text)
	assert.Empty(t, cookies)
}
