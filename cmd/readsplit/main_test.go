package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/doctor"
	"github.com/readsplit/readsplit/testenv/tdsenv"
)

const (
	nobody    = "host=127.0.0.1 port=1 dbname=shop user=shop password=hidden application_name=shop sslmode=disable"
	summaryOf = "0 problems, 0 warnings, 0 notices; 2 of 2 servers answered, "
)

func call(t *testing.T, environ []string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(context.Background(), args, environ, &o, &e)
	assert.NotContains(t, o.String()+e.String(), "hidden")
	return code, o.String(), e.String()
}

func TestExitStatus(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{})
	primary, secondary := c.Primary().DSN(), c.Server("SQL2").ReadOnlyDSN()
	replica2, warned, misspelt := "ag2="+secondary, "ag3="+c.Server("SQL3").DSN(), "ag4="+c.Server("SQL3").DSN()+"&ApplicationIntent=readonly"
	quick := []string{"-watch", "0s", "-timeout", "20s", "-looks", "1"}
	for _, c := range []struct {
		code int
		out  string
		errs string
		env  []string
		args []string
	}{
		{code: 0, out: summaryOf, args: []string{"doctor", "-primary", primary, "-replica", replica2}},
		{code: 1, out: "WARNING intent-missing: ag3", args: []string{"doctor", "-primary", primary, "-replica", replica2, "-replica", warned}},
		{code: 2, out: "PROBLEM intent-misspelt: ag4", args: []string{"doctor", "--primary", primary, "--replica", misspelt}},
		{code: 3, out: "PROBLEM unreachable: primary", args: []string{"doctor", "-primary", nobody, "-watch", "0s", "-timeout", "20s"}},
		{code: 0, out: summaryOf, args: []string{"doctor"}, env: []string{"READSPLIT_PRIMARY=" + primary, "READSPLIT_REPLICAS=\n " + replica2 + "\n"}},
		{code: 0, out: summaryOf, args: []string{"doctor", "-primary", "env:PG1", "-replica", "ag2=env:PG2"},
			env: []string{"PG1=" + primary, "PG2=" + secondary, "READSPLIT_PRIMARY=host=elsewhere"}},
		{code: 3, errs: "no server is named", args: []string{"doctor"}},
		{code: 3, errs: "env:PG1: the variable PG1 is not set", args: []string{"doctor", "-primary", "env:PG1"}},
		{code: 3, errs: "READSPLIT_REPLICAS, line 2: a replica needs a name", args: []string{"doctor"},
			env: []string{"READSPLIT_PRIMARY=" + primary, "READSPLIT_REPLICAS=" + replica2 + "\nsqlserver://shop:hidden@ag2"}},
		{code: 3, errs: "Topology.Primary.DSN is empty", args: []string{"doctor", "-replica", replica2}},
		{code: 3, errs: "-replica: \"host\" is a keyword of DSNs", args: []string{"doctor", "-primary", primary, "-replica", "host=pg2 password=hidden"}},
		{code: 3, errs: "-replica: a replica needs a name", args: []string{"doctor", "-primary", primary, "-replica", "postgres://shop:hidden@pg2/shop"}},
		{code: 3, errs: "-replica: name or DSN is empty", args: []string{"doctor", "-primary", primary, "-replica", "pg2="}},
		{code: 3, errs: "there is something behind the flags", args: []string{"doctor", "-primary", "host=pg1", "password=hidden"}},
		{code: 3, errs: "flag provided but not defined: -primay", args: []string{"doctor", "-primay", "x"}},
		{code: 3, errs: "Topology.Timeout is -1s", args: []string{"doctor", "-primary", primary, "-timeout", "-1s"}},
		{code: 3, errs: `there is no command "docter"`, args: []string{"docter"}},
		{code: 3, errs: "readsplit doctor", args: nil},
		{code: 0, out: "readsplit doctor", args: []string{"help"}},
		{code: 0, out: "readsplit ", args: []string{"version"}},
		{code: 0, out: "Exit status: 0 nothing worse than notices", args: []string{"doctor", "-h"}},
		{code: 0, out: "-instances int", args: []string{"doctor", "-help"}},
	} {
		if len(c.args) > 0 && c.args[0] == "doctor" && c.errs == "" && !slices.Contains(c.args, "-watch") {
			c.args = append(c.args, quick...)
		}
		code, out, errs := call(t, c.env, c.args...)
		assert.Equal(t, c.code, code, "%v\n%s%s", c.args, out, errs)
		assert.Contains(t, out, c.out, c.args)
		assert.Contains(t, errs, c.errs, c.args)
		assert.Equal(t, c.errs == "", errs == "", "%v: %s", c.args, errs)
	}
}

func TestJSON(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
	code, out, errs := call(t, nil, "doctor", "-json", "-watch", "0s", "-timeout", "20s", "-looks", "1",
		"-primary", c.Primary().DSN(), "-replica", "ag4="+c.Replica(0).DSN()+"&ApplicationIntent=readonly")
	assert.Equal(t, 2, code)
	assert.Empty(t, errs)
	var got struct {
		ExitStatus int              `json:"exit_status"`
		Findings   []doctor.Finding `json:"findings"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	assert.Equal(t, 2, got.ExitStatus)
	require.Len(t, got.Findings, 3) // and what is as it should be
	assert.Equal(t, doctor.IntentMisspelt, got.Findings[0].ID)
	assert.Equal(t, doctor.Problem, got.Findings[0].Severity)
	assert.Equal(t, "ag4", got.Findings[0].Server)
}

func TestConfigFile(t *testing.T) {
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "servers.json")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	file := write(`{"primary": "env:PG1", "replicas": {"pg3": "host=pg3 dbname=shop", "pg2": "env:PG2"},
		"pool": 40, "primary_pool": 20, "instances": 3, "looks": 4, "max_lag": "3s", "watch": "30s", "timeout": "2s", "long": "5m", "status": "http://app:6060/"}`)
	env := []string{"PG1=host=pg1", "PG2=host=pg2"}
	got, asJSON, err := doctorFlags([]string{"-config", file}, env, nil)
	require.NoError(t, err)
	assert.False(t, asJSON)
	want := doctor.Topology{
		Primary: doctor.Server{DSN: "host=pg1"}, Replicas: []doctor.Server{{Name: "pg2", DSN: "host=pg2"}, {Name: "pg3", DSN: "host=pg3 dbname=shop"}},
		Status: "http://app:6060/", Watch: 30 * time.Second, Timeout: 2 * time.Second, MaxLag: 3 * time.Second, LongTransaction: 5 * time.Minute,
		Looks: 4, Pool: 40, PrimaryPool: 20, Instances: 3,
	}
	assert.Equal(t, want, got)

	// Flags win.
	got, asJSON, err = doctorFlags([]string{"-config", file, "-json", "-replica", "pg9=host=pg9", "-pool", "7", "-watch", "0s"}, env, nil)
	require.NoError(t, err)
	assert.True(t, asJSON)
	want.Replicas, want.Pool, want.Watch = []doctor.Server{{Name: "pg9", DSN: "host=pg9"}}, 7, doctor.Off
	assert.Equal(t, want, got)

	for text, message := range map[string]string{
		`{"primry": "host=pg1"}`:             `unknown field "primry"`,
		`{"watch": "soon"}`:                  `invalid duration "soon"`,
		`{"primary": "host=pg1"} {}`:         "one object in braces is read",
		`primary: host=pg1 password=hidden`:  "invalid character",
		`{"primary": ["host=pg1 x=hidden"]}`: "cannot unmarshal array",
	} {
		code, _, errs := call(t, nil, "doctor", "-config", write(text))
		assert.Equal(t, 3, code)
		assert.Contains(t, errs, message)
	}
	code, _, errs := call(t, nil, "doctor", "-config", filepath.Join(t.TempDir(), "nothing.json"))
	assert.Equal(t, 3, code)
	assert.Contains(t, errs, "readsplit: -config: ")
}
