package app

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfigThroughTheEnvironment(t *testing.T) {
	for _, want := range []Config{
		{Name: "process 1 of 2", Primary: "host=a password='b c'", Key: "sixteen bytes and more", Plugin: "readsplit", Sessions: true,
			Replicas: []Replica{{"replica1", "host=b password='b c'"}, {"replica2", "host=c"}}},
		{Name: "alone", Primary: "host=a", Key: "sixteen bytes and more", Plugin: "dbresolver"},
	} {
		for _, variable := range want.Environment() {
			name, value, _ := strings.Cut(variable, "=")
			t.Setenv(name, value)
		}
		got, err := FromEnvironment()
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestReportsAddUp(t *testing.T) {
	var total Report
	total.Add(Report{Retries: 1, Captures: 10, Reads: map[string]uint64{"primary": 1, "replica1": 2}})
	total.Add(Report{Retries: 2, Captures: 5, Unsure: 1, Voided: 1, BadTokens: 1, Failed: 3, Reads: map[string]uint64{"replica1": 3}})
	assert.Equal(t, Report{
		Retries: 3, Captures: 15, Unsure: 1, Voided: 1, BadTokens: 1, Failed: 3,
		Reads: map[string]uint64{"primary": 1, "replica1": 5},
	}, total)
}
