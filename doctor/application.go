package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// application is what is read of status.json: package status writes it. Fields that
// a newer version adds are not read, and reasons that it adds are texts.
type application struct {
	Routers     []appRouter     `json:"routers"`
	Connections []appConnection `json:"connections"`
}

type appRouter struct {
	Name    string      `json:"name"`
	Servers []appServer `json:"servers"`
	Reads   struct {
		Replicas uint64   `json:"replicas"`
		Primary  uint64   `json:"primary"`
		Now      *float64 `json:"replica_share_now"`
	} `json:"reads"`
	// MostlyPrimary: most reads have gone to the primary for several seconds, and
	// nobody wants that.
	MostlyPrimary   bool              `json:"mostly_primary"`
	Reasons         []appReason       `json:"reasons"`
	Retries         map[string]uint64 `json:"retries"`
	KeepConflicting int               `json:"keep_conflicting"`
	UnsureWrites    uint64            `json:"unsure_writes"`
	Tokens          map[string]uint64 `json:"tokens"`
	Traffic         *struct {
		KillSwitch bool `json:"kill_switch"`
		Percent    int  `json:"percent"`
		Shadow     bool `json:"shadow"`
	} `json:"traffic"`
	Budget *struct {
		Reads       int    `json:"reads"`
		Waiting     int    `json:"waiting"`
		Refused     uint64 `json:"refused"`
		ServedStale uint64 `json:"served_stale"`
	} `json:"budget"`
}

type appReason struct {
	Reason    string  `json:"reason"`
	Replica   bool    `json:"replica"` // replicas have served them
	Refused   bool    `json:"refused"` // nobody has
	Count     uint64  `json:"count"`
	PerSecond float64 `json:"per_second"`
}

type appServer struct {
	Name    string   `json:"name"`
	Primary bool     `json:"primary"`
	State   string   `json:"state"`
	Advice  string   `json:"advice"`
	Lag     *float64 `json:"lag_seconds"`
	Behind  uint64   `json:"behind_bytes"`
	Reads   uint64   `json:"reads"`
	Pool    struct {
		Max   int   `json:"max"`
		InUse int   `json:"in_use"`
		Waits int64 `json:"waits"`
	} `json:"pool"`
}

type appConnection struct {
	Servers   []string `json:"servers"`
	Needed    int      `json:"needed"`
	Available int      `json:"available"`
}

// examineApplication reads the status of a running application, and judges it.
func examineApplication(ctx context.Context, t Topology) (findings []Finding, answered bool) {
	a, err := readStatus(ctx, t)
	if err != nil {
		return []Finding{found(AppUnreachable, Problem, "",
			"Give the URL under which the page is mounted (docs: package status), from a machine that may see it; a user and a password may stand in the URL.",
			"The application's status cannot be read: %s.", err)}, false
	}
	return judgeApplication(a), true
}

// mostStatus bounds what is read of whatever answers at the URL.
const mostStatus = 8 << 20

func readStatus(ctx context.Context, t Topology) (a application, err error) {
	u, err := url.Parse(t.Status)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return a, fmt.Errorf("it is no URL of http or https")
	}
	if !strings.HasSuffix(u.Path, "/status.json") {
		u = u.JoinPath("status.json")
	}
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return a, fmt.Errorf("it is no URL of http or https")
	}
	// A client of its own leaves no connection behind, and no goroutine.
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return a, fmt.Errorf("%s gives no answer within %v", u.Host, t.Timeout)
		}
		return a, fmt.Errorf("%s: %s", u.Host, reason(err))
	}
	defer func() { _ = res.Body.Close() }() // it was read
	if res.StatusCode != http.StatusOK {
		return a, fmt.Errorf("%s answers %s", u.Host, res.Status)
	}
	err = json.NewDecoder(io.LimitReader(res.Body, mostStatus)).Decode(&a)
	if err != nil || len(a.Routers) == 0 {
		return a, fmt.Errorf("%s answers something that is no status of readsplit", u.Host)
	}
	return a, nil
}
