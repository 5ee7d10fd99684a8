package discover_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/discover"
	"github.com/readsplit/readsplit/internal/dnsdouble"
)

func nameServer(t *testing.T) *dnsdouble.Server {
	t.Helper()
	s, err := dnsdouble.New()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func find(t *testing.T, s discover.Source) ([]discover.Server, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return s.Lookup(ctx)
}

func found(t *testing.T, s discover.Source) []discover.Server {
	t.Helper()
	servers, err := find(t, s)
	require.NoError(t, err)
	slices.SortFunc(servers, func(a, b discover.Server) int {
		if a.Address != b.Address {
			return netip.MustParseAddr(a.Address).Compare(netip.MustParseAddr(b.Address))
		}
		return a.Port - b.Port
	})
	return servers
}

func TestDNS(t *testing.T) {
	ns := nameServer(t)
	ns.Addresses("pg.example", "10.0.0.2", "10.0.0.1", "2001:db8::1")
	source := func(network string) discover.Source {
		return discover.DNS("pg.example.", discover.DNSOptions{Port: 6432, Network: network, Resolver: ns.Resolver()})
	}
	v4 := []discover.Server{{Host: "pg.example.", Address: "10.0.0.1", Port: 6432}, {Host: "pg.example.", Address: "10.0.0.2", Port: 6432}}
	v6 := []discover.Server{{Host: "pg.example.", Address: "2001:db8::1", Port: 6432}}
	assert.Equal(t, slices.Concat(v4, v6), found(t, source("")))
	assert.Equal(t, v4, found(t, source("ip4")))
	assert.Equal(t, v6, found(t, source("ip6")))
	assert.Equal(t, "dns pg.example.", discover.NameOf(source("")))

	ns.Addresses("pg.example", "10.0.0.2")
	assert.Equal(t, v4[1:], found(t, source("")), "changes are seen with the next lookup")
	ns.Addresses("pg.example")
	assert.Empty(t, found(t, source("")), "a name that does not exist is an empty answer")
	ns.Refuse(true)
	_, err := find(t, source(""))
	assert.ErrorContains(t, err, `readsplit: look up "pg.example.": lookup pg.example.`, "a server that fails is none")
	ns.Refuse(false)
	ns.Silence(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = source("").Lookup(ctx)
	assert.Error(t, err, "nor is one that says nothing")
}

func TestSRV(t *testing.T) {
	ns := nameServer(t)
	const name = "_postgresql._tcp.example."
	source := discover.SRV(name, discover.DNSOptions{Resolver: ns.Resolver()})
	weights := func(records ...dnsdouble.SRV) (weights []int) {
		for i := range records {
			records[i].Port, records[i].Target = uint16(i+1), "pg.example."
		}
		ns.Services(name, records...)
		for i, s := range found(t, source) {
			assert.Equal(t, "pg.example.", s.Host)
			assert.Equal(t, i+1, s.Port)
			weights = append(weights, s.Weight)
		}
		return weights
	}
	type r = dnsdouble.SRV
	assert.Equal(t, []int{1, 1, 1}, weights(r{Weight: 33}, r{Weight: 33}, r{Weight: 33}), "as CoreDNS says it")
	assert.Equal(t, []int{1, 3}, weights(r{Weight: 20}, r{Weight: 60}))
	assert.Equal(t, []int{1, 1}, weights(r{}, r{}))
	assert.Equal(t, []int{1, 10}, weights(r{}, r{Weight: 10}))
	assert.Equal(t, []int{100, 300, 1, 1}, weights(r{Priority: 1, Weight: 10}, r{Priority: 1, Weight: 30}, r{Priority: 2, Weight: 65535}, r{Priority: 9}))
	assert.Equal(t, []int{1 << 20, 100, 1}, weights(r{Weight: 65535}, r{Weight: 1}, r{Priority: 1}), "no more than a replica may have")
	assert.Empty(t, weights())
	ns.Services(name, r{Target: "."})
	assert.Empty(t, found(t, source), "decidedly not available")
}

func TestHosts(t *testing.T) {
	for dsn, want := range map[string][]discover.Server{
		"postgres://u:p@a:1,b,[::1]:3/d?target_session_attrs=read-write": {{Host: "a", Port: 1}, {Host: "b"}, {Host: "::1", Port: 3}},
		"host=a,b port=6432 sslmode=verify-full passfile=/x":             {{Host: "a", Port: 6432}, {Host: "b", Port: 6432}},
	} {
		servers, err := find(t, discover.Hosts(dsn))
		require.NoError(t, err)
		assert.Equal(t, want, servers)
	}
	for _, dsn := range []string{"host=a,b port=1,2,3", "a secret", "host=a port=x"} {
		servers, err := find(t, discover.Hosts(dsn))
		assert.ErrorContains(t, err, "readsplit: discover.Hosts: the DSN is not understood")
		assert.NotContains(t, err.Error(), "secret")
		assert.Empty(t, servers)
		assert.ErrorIs(t, discover.Config{Source: discover.Hosts(dsn)}.Validate(), err, "said at the start: no answer will ever come")
	}
}

func TestJoinAndWith(t *testing.T) {
	a, b := discover.Static(discover.Server{Host: "a", Port: 1}), discover.Static(discover.Server{Host: "b", Port: 2})
	zoned := discover.With(b, func(s *discover.Server) { s.Zone = "z" })
	assert.Equal(t, []discover.Server{{Host: "a", Port: 1}, {Host: "b", Port: 2, Zone: "z"}}, found(t, discover.Join(a, zoned)))
	assert.Equal(t, []discover.Server{{Host: "b", Port: 2}}, found(t, b), "what is changed is a copy")
	fails := discover.Func("broken", func(context.Context) ([]discover.Server, error) { return nil, errors.New("no") })
	servers, err := find(t, discover.Join(a, fails))
	assert.EqualError(t, err, "broken: no")
	assert.Empty(t, servers, "half an answer is none")
	assert.Equal(t, "static, static, broken", discover.NameOf(discover.Join(a, zoned, fails)))
}

func TestStandbysNeedAPrimary(t *testing.T) {
	_, err := find(t, discover.Standbys(discover.StandbyOptions{}))
	assert.ErrorContains(t, err, "discover.Standbys has no primary to ask")
}
