package stage

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConditionBetweenTwoMoments(t *testing.T) {
	w := NewWeather(nil, 1)
	quiet := w.Now()
	assert.Equal(t, Quiet, Between(quiet, w.Now()))
	w.set(BothPaused)
	paused := w.Now()
	assert.Equal(t, BothPaused, Between(paused, w.Now()))
	assert.Equal(t, Changing, Between(quiet, paused))
	w.set(Quiet)
	assert.Equal(t, Quiet, Between(w.Now(), w.Now()))
	assert.Equal(t, Changing, Between(quiet, w.Now()), "it was something else in between")
	for _, c := range Conditions() {
		assert.NotEmpty(t, c.String())
		assert.Equal(t, c == BothDelayed || c == BothPaused || c == FarBehind, c.Both(), "%s", c)
	}
}

func TestProxyGivesEachRequestToTheNextProcess(t *testing.T) {
	var processes []*Process
	for _, name := range []string{"one", "two"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) }))
		defer server.Close()
		processes = append(processes, &Process{URL: server.URL})
	}
	p, err := startProxy("", processes)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{}}
	var answers []string
	for range 4 {
		res, err := client.Get("http://" + p.addr)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		answers = append(answers, string(text))
	}
	assert.Equal(t, []string{"two", "one", "two", "one"}, answers)
	client.CloseIdleConnections()
	require.NoError(t, p.end(context.Background()))
}
