package status

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/readsplit/readsplit/observe"
)

// Options say what the page shows and who may do something with it. The zero value is
// a page that shows what Plugin.Status knows.
type Options struct {
	// Ring holds the decisions and changes of state that are shown; it must be among
	// Config.Observers, too, and the page says so where it is not. Defaults to none:
	// then neither is shown.
	Ring *observe.Ring

	// Every is the time between two looks at the servers' state. At least 100 ms.
	// Defaults to 1 s.
	Every time.Duration

	// Keep is how much of the past is shown. At least Every, and at most 3,600 times
	// that. Defaults to 10 min.
	Keep time.Duration

	// Authorize says whether a request may take a replica out of service, bring it
	// back, or flip the kill switch. Requests from other sites are refused before it is
	// asked. Defaults to nil: nobody may, and the page has no buttons.
	Authorize func(r *http.Request) bool
}

const mostPoints = 3600

func (o Options) withDefaults() Options {
	if o.Every == 0 {
		o.Every = time.Second
	}
	if o.Keep == 0 {
		o.Keep = max(10*time.Minute, o.Every)
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	if o.Every < 100*time.Millisecond {
		errs = append(errs, fmt.Errorf("readsplit: status: Options.Every is %v: it must be at least 100ms (0 means 1s)", o.Every))
	}
	if o.Keep < o.Every || o.Keep > mostPoints*o.Every {
		errs = append(errs, fmt.Errorf("readsplit: status: Options.Keep is %v: it must be from Options.Every, %v, to %d times that (0 means 10m)", o.Keep, o.Every, mostPoints))
	}
	return errors.Join(errs...)
}
