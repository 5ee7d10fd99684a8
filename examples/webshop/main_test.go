package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/examples/webshop/stage"
)

// TestMain: the processes of the application are this program.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == stage.Serve {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

var lastLine = regexp.MustCompile(`(?m)^journeys: total=(\d+) missing=(\d+) replica_share=(\d+\.\d)%\n\z`)

// TestJourneys: two processes, replicas that are delayed and paused, and nobody misses
// what they have written. With dbresolver they do.
func TestJourneys(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]options{
		"readsplit":  {plugin: "readsplit", sessions: true, total: 80},
		"dbresolver": {plugin: "dbresolver", sessions: true, total: 20, behind: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			var out bytes.Buffer
			o.journeys, o.pairs, o.pace, o.seed, o.rate = true, 5, 0.3, 6, 40
			require.NoError(t, journeys(ctx, o, &out, os.Stderr), "%s", &out)
			m := lastLine.FindStringSubmatch(out.String())
			require.NotNil(t, m, "%s", &out)
			assert.Equal(t, strconv.Itoa(o.total), m[1])
			if o.promised() {
				assert.Equal(t, "0", m[2])
				assert.NotEqual(t, "0.0", m[3])
			} else {
				assert.NotEqual(t, "0", m[2])
			}
		})
	}
}

// TestTheLineOfTheSessionsIsWhatDoesIt: without it an order that was placed with one
// process is missing in the other one, which has written nothing itself.
func TestTheLineOfTheSessionsIsWhatDoesIt(t *testing.T) {
	t.Parallel()
	s, err := stage.Start(t.Context(), stage.Options{Plugin: "readsplit", NoSessions: true, Errors: os.Stderr})
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := s.Close(context.Background())
		assert.NoError(t, err)
	})
	require.NoError(t, stage.NewWeather(s.Cluster, 1).Stay(t.Context(), time.Second))
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar, Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(client.CloseIdleConnections)
	post := func(path string, form url.Values) (location string) {
		res, err := client.PostForm(s.Processes[0].URL+path, form)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusSeeOther, res.StatusCode)
		return res.Header.Get("Location")
	}
	post("/login", url.Values{"name": {"Ada"}})
	missing := 0
	for n := range 10 { // on a machine that is busy the replicas may be out for a while
		list := post("/products/1/buy", url.Values{"key": {strconv.Itoa(n)}})
		_, number, _ := strings.Cut(list, "placed=")
		res, err := client.Get(s.Processes[1].URL + list)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		if !strings.Contains(string(text), `data-order="`+number+`"`) {
			missing++
		}
	}
	assert.Positive(t, missing)
}

func TestArguments(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want options
	}{
		"none":     {nil, options{plugin: "readsplit", sessions: true, listen: "127.0.0.1:0", total: 10_000, pairs: 1000, pace: 1}},
		"person":   {[]string{"-behind", "5s", "-listen", "127.0.0.1:4711", "-plugin", "dbresolver", "-pg", "18"}, options{plugin: "dbresolver", sessions: true, version: "18", behind: 5 * time.Second, listen: "127.0.0.1:4711", total: 10_000, pairs: 1000, pace: 1}},
		"journeys": {[]string{"journeys"}, options{journeys: true, plugin: "readsplit", sessions: true, total: 10_000, pairs: 1000, pace: 1, rate: 40, seed: 1}},
		"short":    {[]string{"journeys", "-short"}, options{journeys: true, plugin: "readsplit", sessions: true, total: 700, pairs: 200, pace: 0.3, rate: 40, seed: 1}},
		"number":   {[]string{"journeys", "-short", "-seed", "7", "-rate", "0", "300"}, options{journeys: true, plugin: "readsplit", sessions: true, total: 300, pairs: 200, pace: 0.3, seed: 7}},
	} {
		got, err := parse(c.args, io.Discard)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, got, name)
	}
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{{"journey"}, {"journeys", "many"}, {"journeys", "0"}, {"journeys", "5", "6"}, {"-plugin", "none"}, {"journeys", "-rate", "-1"}, {"-behind", "-1s"}, {"-seed", "1"}} {
		var out bytes.Buffer
		_, err := parse(args, &out)
		require.Error(t, err, "%v", args)
		assert.NotEmpty(t, out.String(), "%v: it says what is wrong", args)
		assert.Equal(t, 2, run(args, io.Discard, io.Discard), "%v", args)
	}
	_, err := parse([]string{"-help"}, io.Discard)
	assert.ErrorIs(t, err, flag.ErrHelp)
	assert.Zero(t, run([]string{"-help"}, io.Discard, io.Discard))
}

func TestProcessWithoutAConfiguration(t *testing.T) {
	t.Setenv("WEBSHOP_PRIMARY", "")
	t.Setenv("WEBSHOP_REPLICAS", "nothing")
	var errOut bytes.Buffer
	assert.Equal(t, 1, run([]string{stage.Serve}, io.Discard, &errOut))
	for _, name := range []string{"WEBSHOP_PRIMARY", "WEBSHOP_KEY", "WEBSHOP_PLUGIN", "WEBSHOP_REPLICAS"} {
		assert.Contains(t, errOut.String(), name)
	}
}
