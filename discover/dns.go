package discover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// DNSOptions say how a name is looked up.
type DNSOptions struct {
	// Port is where the servers listen. Defaults to the template's.
	Port int
	// Network is "ip" for A and AAAA records, "ip4" or "ip6" for one of them. A server
	// with an address of each kind is found twice and used once; that takes one more
	// connection. Defaults to "ip".
	Network string
	// Resolver looks names up. Defaults to net.DefaultResolver.
	Resolver *net.Resolver
}

func (o DNSOptions) resolver() *net.Resolver {
	if o.Resolver == nil {
		return net.DefaultResolver
	}
	return o.Resolver
}

// DNS is a source of one server for each address of a name: a headless service of
// Kubernetes, several A records. Certificates are checked against the name, while the
// address is dialled. Go's resolver does not tell for how long an answer may be kept,
// so the name is looked up at [Config.Every], whatever its TTL. A name that does not
// exist, or has no address, is an empty answer.
//
// A name that shows another of its servers in each answer (a managed reader endpoint,
// weighted records) is not one that names them all: give [Config.Grace] several
// minutes, or take the name as one replica.
func DNS(name string, o DNSOptions) Source {
	if o.Network == "" {
		o.Network = "ip"
	}
	return Func("dns "+name, func(ctx context.Context) ([]Server, error) {
		addresses, err := o.resolver().LookupNetIP(ctx, o.Network, name)
		if err != nil {
			return nil, notFound(name, err)
		}
		slices.SortFunc(addresses, netip.Addr.Compare) // they come in turns
		servers := make([]Server, len(addresses))
		for i, a := range addresses {
			servers[i] = Server{Host: name, Address: a.Unmap().String(), Port: o.Port}
		}
		return servers, nil
	})
}

// SRV is a source of one server for each SRV record of a name, as
// "_postgresql._tcp.example.org": its target, port and weight. Targets are names, whose
// address is looked up whenever a connection is opened. The weights of the lowest
// priority are relative to each other; where there are further priorities these are a
// hundred times larger, and the weight of all others is 1, so that hardly a read goes
// there while one of the first serves.
func SRV(name string, o DNSOptions) Source {
	return Func("srv "+name, func(ctx context.Context) ([]Server, error) {
		_, records, err := o.resolver().LookupSRV(ctx, "", "", name)
		if err != nil {
			return nil, notFound(name, err)
		}
		return fromRecords(records)
	})
}

// fromRecords makes replicas of records.
func fromRecords(records []*net.SRV) ([]Server, error) {
	if len(records) == 1 && (records[0].Target == "." || records[0].Target == "") {
		return nil, nil // RFC 2782: the service is decidedly not available
	}
	if len(records) == 0 {
		return nil, nil
	}
	first := slices.MinFunc(records, func(a, b *net.SRV) int { return int(a.Priority) - int(b.Priority) }).Priority
	divisor, further := 0, 1
	for _, r := range records {
		if r.Priority != first {
			further = 100
			continue
		}
		divisor = gcd(divisor, int(max(r.Weight, 1)))
	}
	// A resolver shuffles them by their weights. Each answer would name them in another
	// order, also to whoever reads it.
	slices.SortStableFunc(records, func(a, b *net.SRV) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Port, b.Port))
	})
	servers := make([]Server, len(records))
	for i, r := range records {
		weight := 1
		if r.Priority == first {
			weight = min(int(max(r.Weight, 1))/divisor*further, mostWeight)
		}
		servers[i] = Server{Host: r.Target, Port: int(r.Port), Weight: weight}
	}
	return servers, nil
}

// mostWeight is policy.MaxWeight.
const mostWeight = 1 << 20

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// notFound takes a name that does not exist for an empty answer: so a headless service
// without pods looks. Everything else is no answer.
func notFound(name string, err error) error {
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return nil
	}
	return fmt.Errorf("readsplit: look up %q: %w", name, err)
}
