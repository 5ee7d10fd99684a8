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
