package readsplit

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A zone that is misspelled costs every read the way to another one, in silence.
func TestMissesZone(t *testing.T) {
	in := func(zone string, replicas ...string) Config {
		c := Config{Zone: zone}
		for _, z := range replicas {
			c.Replicas = append(c.Replicas, Replica{Zone: z})
		}
		return c
	}
	assert.True(t, missesZone(in("eu-1A", "eu-1a", "eu-1b")))
	assert.True(t, missesZone(in("eu-1a", "", "")), "nobody has named the replicas' zones")
	assert.False(t, missesZone(in("eu-1b", "eu-1a", "eu-1b")))
	assert.False(t, missesZone(in("", "eu-1a", "eu-1b")), "the process has no zone")
	assert.False(t, missesZone(in("eu-1a")), "no replicas: they may be added")

	resolver := in("eu-1b", "eu-1a")
	resolver.Resolvers = []Resolver{{Replicas: []Replica{{Zone: "eu-1b"}}}}
	assert.False(t, missesZone(resolver))
}
