package discover_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/readsplit/readsplit/discover"
	"github.com/readsplit/readsplit/internal/dnsdouble"
)

// patroni asks the REST interface of Patroni who the running replicas are. Whatever else
// knows them (Consul, the endpoints of Kubernetes) is asked in the same way.
func patroni(url string) discover.Source {
	return discover.Func("patroni", func(ctx context.Context) ([]discover.Server, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/cluster", nil)
		if err != nil {
			return nil, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("patroni answers %s", response.Status) // an error page names nobody
		}
		var cluster struct {
			Members []struct {
				Name, Host, Role, State string
				Port                    int
			}
		}
		if err := json.NewDecoder(response.Body).Decode(&cluster); err != nil {
			return nil, err
		}
		var servers []discover.Server
		for _, m := range cluster.Members {
			// The leader too: it is asked what it is, and used once it is a standby.
			servers = append(servers, discover.Server{Name: m.Name, Host: m.Host, Port: m.Port})
		}
		return servers, nil
	})
}

// fleet is what servers are added to where there is no Config.Discover: a resolver of
// readsplit, over AddReplica and RemoveReplica, or anything else.
type fleet struct{}

func (fleet) Add(_ context.Context, servers []discover.Server) []error {
	for _, s := range servers {
		fmt.Println("add", s.Name, "at", s.Endpoint())
		// plugin.AddReplica("resolver", readsplit.Replica{Name: s.Name, Dialector: ...})
	}
	return make([]error, len(servers))
}

func (fleet) Change(s discover.Server) { fmt.Println(s.Name, "has weight", s.Weight) }

func (fleet) Remove(_ context.Context, s discover.Server) {
	fmt.Println("remove", s.Name)
	// plugin.RemoveReplica(ctx, "resolver/"+s.Name)
}

func ExampleFunc() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"members": [
			{"name": "pg1", "role": "leader", "state": "running", "host": "10.0.0.1", "port": 5432},
			{"name": "pg2", "role": "replica", "state": "streaming", "host": "10.0.0.2", "port": 5432}]}`)
	}))
	defer server.Close()

	// With readsplit.Config: Discover: discover.Config{Source: patroni(url)}.
	watch := discover.New(discover.Config{Source: patroni(server.URL), Every: time.Minute}, fleet{}, func(e discover.Event) {
		if e.Err != nil {
			log.Println(e.Kind, e.Err)
		}
	})
	watch.Start()
	defer watch.Close()
	// Output:
	// add pg1 at 10.0.0.1:5432
	// add pg2 at 10.0.0.2:5432
}

// A replica by name, the hosts of a DSN, and a zone for all of them.
func ExampleJoin() {
	source := discover.With(discover.Join(
		discover.Static(discover.Server{Name: "pg2", Host: "10.0.0.2", Port: 5432}),
		discover.Hosts("host=10.0.0.3,10.0.0.4 port=5432 dbname=shop"),
	), func(s *discover.Server) { s.Zone = "eu-1a" })

	servers, err := source.Lookup(context.Background())
	for _, s := range servers {
		fmt.Println(s.Endpoint(), s.Zone)
	}
	fmt.Println(err)
	// Output:
	// 10.0.0.2:5432 eu-1a
	// 10.0.0.3:5432 eu-1a
	// 10.0.0.4:5432 eu-1a
	// <nil>
}

// A headless service of Kubernetes: a server for each address of its name.
func ExampleDNS() {
	dns := exampleDNS() // a DNS server for the example
	defer dns.Close()

	source := discover.DNS("replicas.shop.svc", discover.DNSOptions{
		Network:  "ip4",
		Port:     5432,
		Resolver: dns.Resolver(), // Defaults to the system's
	})
	servers, err := source.Lookup(context.Background())
	fmt.Println(len(servers), err)
	// Output: 2 <nil>
}

// SRV records name hosts, ports and weights.
func ExampleSRV() {
	dns := exampleDNS()
	defer dns.Close()

	source := discover.SRV("_postgresql._tcp.example.org", discover.DNSOptions{Resolver: dns.Resolver()})
	servers, err := source.Lookup(context.Background())
	for _, s := range servers {
		fmt.Println(s.Endpoint(), s.Weight)
	}
	fmt.Println(err)
	// Output:
	// pg2.example.org.:5433 3
	// pg3.example.org.:5433 1
	// <nil>
}

// The standbys that the primary streams to. Those that others call by another address
// than they stream from are found by their application_name.
func ExampleStandbys() {
	source := discover.Standbys(discover.StandbyOptions{
		Port: 5432,
		Locate: func(s discover.Standby) (discover.Server, bool) {
			return discover.Server{Name: s.ApplicationName, Host: s.ApplicationName + ".db.internal"}, s.ApplicationName != "backup"
		},
	})
	// With readsplit.Config: Discover: discover.Config{Source: source}, whose primary it asks.
	fmt.Println(discover.NameOf(source))
	// Output: pg_stat_replication
}

func exampleDNS() *dnsdouble.Server {
	dns, err := dnsdouble.New()
	if err != nil {
		panic(err)
	}
	dns.Addresses("replicas.shop.svc", "10.0.0.2", "10.0.0.3")
	dns.Services("_postgresql._tcp.example.org",
		dnsdouble.SRV{Target: "pg2.example.org", Port: 5433, Weight: 30},
		dnsdouble.SRV{Target: "pg3.example.org", Port: 5433, Weight: 10})
	return dns
}
