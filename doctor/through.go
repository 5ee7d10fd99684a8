package doctor

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// through is what lies between the doctor and the server.
type through struct {
	// servers are those that answered at this name, told apart by what they are.
	servers []identity
	tries   int
	pooler  bool // somebody else's key for cancelling
	shared  bool // two connections run on one of the server's, or one on several
}

// identity tells running servers apart, whatever way led to them.
type identity struct {
	started int64  // microseconds since 1970
	cluster string // cluster_name
}

// lookThrough opens further connections and compares who answers.
func (f *facts) lookThrough(ctx context.Context, looks int) {
	f.through.servers = []identity{f.identity()}
	f.through.pooler = uint32(f.about.PID) != f.conn.PID()
	f.through.tries = 1
	ways := waysTo(ctx, f.cfg)
	for i := 0; i < looks-1 && len(ways) > 0; i++ {
		way := i % len(ways)
		conn, err := dial(ctx, ways[way], f.timeout)
		if err != nil {
			// No room for more connections, or an address without a server, as one of the
			// two of localhost.
			ways = slices.Delete(ways, way, way+1)
			continue
		}
		f.through.tries++
		var there, here about
		seen := f.askWho(ctx, conn, &there)
		if who := (identity{there.Started, there.Cluster}); seen && !slices.Contains(f.through.servers, who) {
			f.through.servers = append(f.through.servers, who)
		}
		// Both are open. A pooler in session mode keeps a connection of the server's
		// for each.
		if seen && f.through.pooler && f.askWho(ctx, f.conn, &here) && (here.PID == there.PID || here.PID != f.about.PID) {
			f.through.shared = true
		}
		hangUp(conn)
	}
}

// askWho asks another connection what the first one was asked.
func (f *facts) askWho(ctx context.Context, conn *pgconn.PgConn, into *about) bool {
	text, err := ask(ctx, conn, f.timeout, aboutSQL)
	return err == nil && json.Unmarshal([]byte(text), into) == nil
}

// waysTo returns a configuration for each address that the host's name has: a
// driver always tries them in the same order, and would see the first alone.
func waysTo(ctx context.Context, cfg *pgx.ConnConfig) []*pgx.ConnConfig {
	if net.ParseIP(cfg.Host) != nil || len(cfg.Host) == 0 || cfg.Host[0] == '/' || len(hostsOf(cfg)) > 1 {
		return []*pgx.ConnConfig{cfg}
	}
	addrs, err := net.DefaultResolver.LookupHost(ctx, cfg.Host)
	if err != nil || len(addrs) < 2 {
		return []*pgx.ConnConfig{cfg}
	}
	var ways []*pgx.ConnConfig
	for _, addr := range addrs {
		way := cfg.Copy()
		way.LookupFunc = func(context.Context, string) ([]string, error) { return []string{addr}, nil }
		ways = append(ways, way)
	}
	return ways
}

// names are the servers for people: by cluster_name, else by when they started.
func (t through) names() []string {
	var names []string
	for _, s := range t.servers {
		name := s.cluster
		if name == "" || slices.Contains(names, name) {
			name = "the one started at " + strconv.FormatInt(s.started/1e6, 10)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
