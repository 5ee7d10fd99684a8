package lsn_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

func TestParseSubscription(t *testing.T) {
	got, err := lsn.ParseSubscription("u1 2 1 0/16B3748 1500")
	require.NoError(t, err)
	assert.Equal(t, lsn.Subscription{Count: 2, Running: 1, Received: 0x16B3748, Heard: 1500 * time.Millisecond, HeardKnown: true}, got)
	got, err = lsn.ParseSubscription("u1 0 0 - -")
	require.NoError(t, err)
	assert.Equal(t, lsn.Subscription{}, got)
	for _, bad := range []string{"", "u1 0 0 -", "u2 0 0 - -", "u1 x 0 - -", "u1 0 -1 - -", "u1 1 1 16B3748 0", "u1 1 1 0/1 -1"} {
		_, err := lsn.ParseSubscription(bad)
		assert.Error(t, err, bad)
	}
}
