package lsn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

func TestParseRole(t *testing.T) {
	r, err := lsn.ParseRole("p1 f 0000000A 7301 1700000000000000 10.0.0.1 5432")
	require.NoError(t, err)
	server := lsn.Server{System: 7301, Started: 1_700_000_000_000_000, Addr: "10.0.0.1", Port: 5432}
	assert.Equal(t, lsn.Role{Server: server, Timeline: 10}, r)

	r, err = lsn.ParseRole("p1 true - 7301 1700000000000000 - -")
	require.NoError(t, err)
	server.Addr, server.Port = "", 0
	assert.Equal(t, lsn.Role{Server: server, InRecovery: true}, r)

	for _, bad := range []string{
		"", "p1 f 1 1 1 -", "k1 f 1 1 1 - -", "p1 f - 7301 1 - -", "p1 x 1 7301 1 - -", "p1 f xyz 7301 1 - -", "p1 f 1 one 1 - -",
		"p1 f 1 7301 later - -", "p1 f 1 7301 1 host port",
	} {
		_, err := lsn.ParseRole(bad)
		assert.Error(t, err, bad)
	}
}
