package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/assert/yaml"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv/tdsenv"
)

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}

type service struct {
	Hostname    string
	Image       string
	Environment map[string]string
	Ports       []string
	Volumes     []string
	Profiles    []string
	Healthcheck struct{ Test []string }
}

// TestComposeFile: what can be known of the file without running it.
func TestComposeFile(t *testing.T) {
	var file struct {
		Services map[string]service
		Volumes  map[string]any
	}
	require.NoError(t, yaml.Unmarshal([]byte(text(t, "compose.yml")), &file))
	require.Len(t, file.Services, 3)
	// As the documentation of the image and of SQL Server on Linux has them.
	documented := []string{"ACCEPT_EULA", "MSSQL_SA_PASSWORD", "MSSQL_PID", "MSSQL_ENABLE_HADR", "MSSQL_MEMORY_LIMIT_MB"}
	ports := map[string]bool{}
	for _, name := range []string{"sql1", "sql2", "sql3"} {
		s := file.Services[name]
		assert.Equal(t, name, s.Hostname, "the name that the server gives itself")
		assert.LessOrEqual(t, len(s.Hostname), 15, "longer names are no names of servers")
		assert.Contains(t, s.Image, "mcr.microsoft.com/mssql/server:")
		for variable := range s.Environment {
			assert.Contains(t, documented, variable)
		}
		assert.True(t, strings.HasPrefix(s.Environment["ACCEPT_EULA"], "${ACCEPT_EULA:?"), "whoever runs it accepts the licence")
		assert.Equal(t, "1", s.Environment["MSSQL_ENABLE_HADR"])
		require.Len(t, s.Ports, 1)
		assert.True(t, strings.HasPrefix(s.Ports[0], "127.0.0.1:"), "the password stands in a file")
		ports[s.Ports[0]] = true
		require.Len(t, s.Volumes, 1)
		volume, where, _ := strings.Cut(s.Volumes[0], ":")
		assert.Contains(t, file.Volumes, volume)
		assert.Contains(t, text(t, "group/certificate.sql"), "'"+where+"/endpoint.cer'")
		assert.Contains(t, text(t, "group/certified.sql"), "'"+where+"/endpoint.pvk'")
		assert.Contains(t, text(t, "group/group.sql"), "N'"+name+"' WITH (\n\t\t\tENDPOINT_URL = N'tcp://"+name+":5022'")
		assert.Equal(t, "CMD-SHELL", s.Healthcheck.Test[0])
		assert.Equal(t, name != "sql1", slices.Contains(s.Profiles, "group"), "sql1 is also the single server")
	}
	assert.Len(t, ports, 3)
}

// TestScript: the shell takes it, and each file in group/ is run.
func TestScript(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "sh", "-n", "real.sh").CombinedOutput()
	require.NoError(t, err, "%s", out)
	script := text(t, "real.sh")
	files, err := filepath.Glob("group/*.sql")
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, f := range files {
		assert.Contains(t, script, " "+filepath.Base(f), f)
	}
	assert.NotRegexp(t, `ACCEPT_EULA=["']?[Yy]["']?( docker|$)`, script, "it does not accept the licence for anybody")
	// Without the licence nothing is started, and it says why.
	dir := t.TempDir()
	for _, f := range []string{"real.sh", "compose.yml"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f), []byte(text(t, f)), 0o600))
	}
	cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(dir, "real.sh"))
	cmd.Env = append(os.Environ(), "ACCEPT_EULA=")
	out, err = cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "set ACCEPT_EULA=Y if you accept it")
	password := text(t, filepath.Join(dir, ".sa-password"))
	assert.Regexp(t, `^Aa1-[0-9a-f]{32}$`, password)

	// What it tells the programs is what they read.
	out, err = exec.CommandContext(t.Context(), "sh", filepath.Join(dir, "real.sh"), "env").CombinedOutput()
	require.NoError(t, err, "%s", out)
	said := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)export (\w+)='([^']*)'`).FindAllStringSubmatch(string(out), -1) {
		said[m[1]] = m[2]
	}
	assert.Equal(t, said["READSPLIT_PRIMARY"], said["READSPLIT_SQLSERVER_PRIMARY"])
	assert.Equal(t, said["READSPLIT_REPLICAS"], said["READSPLIT_SQLSERVER_REPLICAS"])
	var o opened
	require.NoError(t, o.servers.Fill(t.Context(), func(name string) string { return said[name] }, tdsenv.Config{}))
	assert.Nil(t, o.servers.Double)
	assert.Equal(t, "sqlserver://sa:"+password+"@127.0.0.1:14331?database=shop&encrypt=disable", o.servers.Primary)
	require.Len(t, o.servers.Replicas, 2)
	assert.Equal(t, "sql3", o.servers.Replicas[1].Name)
	assert.Equal(t, "sqlserver://sa:"+password+"@127.0.0.1:14333?database=shop&encrypt=disable&ApplicationIntent=ReadOnly", o.servers.Replicas[1].DSN)
}

// TestStatements: each file is batches that end with GO, and a group of its own name.
func TestStatements(t *testing.T) {
	files, err := filepath.Glob("group/*.sql")
	require.NoError(t, err)
	for _, f := range files {
		sql := text(t, f)
		assert.True(t, strings.HasPrefix(sql, "-- On "), "%s says where it runs", f)
		assert.True(t, strings.HasSuffix(sql, ";\nGO\n"), f)
		assert.Equal(t, strings.Count(sql, "("), strings.Count(sql, ")"), f)
		assert.Zero(t, strings.Count(sql, "'")%2, f)
		for _, m := range regexp.MustCompile(`AVAILABILITY GROUP (\w+)`).FindAllStringSubmatch(sql, -1) {
			assert.Equal(t, "readsplit", m[1], f)
		}
		if strings.Contains(sql, "CLUSTER_TYPE") {
			assert.Contains(t, sql, "CLUSTER_TYPE = NONE", f)
		}
	}
}
