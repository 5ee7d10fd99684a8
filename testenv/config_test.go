package testenv

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfigDefaults(t *testing.T) {
	t.Setenv("READSPLIT_PG", "18")
	cfg, err := Config{}.complete()
	require.NoError(t, err)
	assert.Equal(t, 2, cfg.Replicas)
	assert.Equal(t, "18", cfg.Version)
	assert.Empty(t, cfg.Dir, "it is chosen when the cluster starts")

	cfg, err = Config{Replicas: -1, Version: "15", Dir: "/x"}.complete()
	require.NoError(t, err)
	assert.Equal(t, 0, cfg.Replicas)
	assert.Equal(t, "15", cfg.Version)
	assert.Equal(t, "/x", cfg.Dir)

	cfg, err = Config{BinDir: "/y"}.complete()
	require.NoError(t, err)
	assert.Empty(t, cfg.Version, "a folder that was named is taken as it is")
}

func TestConfigReportsEveryProblemAtOnce(t *testing.T) {
	t.Setenv("READSPLIT_PG", "latest")
	_, err := Config{Replicas: 21, Settings: map[string]string{"Port": "1", "a b": "2", "work_mem": "1MB\nfsync=on"}}.complete()
	require.EqualError(t, err, "Config.Replicas is 21: it must be 1 to 20, -1 for none, or 0 for the default of 2; "+
		`$READSPLIT_PG is "latest": it must be a major version such as 15 or 18; `+
		"Config.Settings has Port: testenv sets it itself; remove it; "+
		`Config.Settings has "a b": a name of a setting has letters, digits, _ and at most one dot; `+
		`Config.Settings["work_mem"] has a line break or a zero byte: a value of postgresql.conf is one line`)

	_, err = Config{Replicas: -2, Version: "14"}.complete()
	require.EqualError(t, err, "Config.Replicas is -2: it must be 1 to 20, -1 for none, or 0 for the default of 2; "+
		`Config.Version is "14": testenv needs PostgreSQL 15 or newer`)
}

func TestOptions(t *testing.T) {
	var cfg Config
	first := Setting("a", "1")
	for _, o := range []Option{Replicas(3), first, Setting("b", "2"), Version("15"), BinDir("/b"), Dir("/d")} {
		o(&cfg)
	}
	assert.Equal(t, Config{Replicas: 3, Version: "15", BinDir: "/b", Dir: "/d", Settings: map[string]string{"a": "1", "b": "2"}}, cfg)

	shared := map[string]string{}
	cfg = Config{Settings: shared}
	first(&cfg)
	assert.Empty(t, shared, "the caller's map is the caller's")
	Replicas(0)(&cfg)
	assert.Equal(t, -1, cfg.Replicas, "none, and not the default")
}
