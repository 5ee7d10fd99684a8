package discover

import (
	"errors"
	"fmt"
	"time"
)

// Off is the value that turns [Config.EmptyGrace] off.
const Off time.Duration = -1

// Config says whom to ask, how often, and what is made of the answers.
type Config struct {
	// Source says which servers there are. Without one nothing is discovered.
	Source Source

	// Every is the time between two lookups, jittered by a tenth. A failover and a
	// server that goes down have the source asked earlier. Defaults to 10 s.
	Every time.Duration

	// Timeout is how long one lookup may take. At the start nobody waits longer for
	// the first one. Defaults to 2 s.
	Timeout time.Duration

	// Grace is for how long a server must be missing from the answers, and from two of
	// them at least, before it is taken out. Until then it serves as long as it answers:
	// a name that flaps closes no connection. Defaults to 30 s.
	Grace time.Duration

	// EmptyGrace is the same while an answer names nobody at all, which is a mistake
	// more often than true. At least Grace. Off never takes the last ones out.
	// Defaults to 5 min.
	EmptyGrace time.Duration

	// Drain is how long reads may go on on a server that is taken out, before they are
	// broken off and run elsewhere. Defaults to 5 min.
	Drain time.Duration

	// Most is how many servers are in use at most, those included that are being taken
	// out. Of more, each process takes others. Defaults to 128.
	Most int
}

func (c Config) withDefaults() Config {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.Every, 10*time.Second)
	def(&c.Timeout, 2*time.Second)
	def(&c.Grace, 30*time.Second)
	def(&c.EmptyGrace, max(5*time.Minute, c.Grace))
	def(&c.Drain, 5*time.Minute)
	if c.Most == 0 {
		c.Most = 128
	}
	return c
}

// Validate reports what is wrong with c.
func (c Config) Validate() error {
	if c.Source == nil {
		if c != (Config{}) {
			return errors.New("Source is nil, although other fields are set: nothing would be discovered; set it, or leave the others 0")
		}
		return nil
	}
	var errs []error
	if s, ok := c.Source.(interface{ Validate() error }); ok {
		if err := s.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("Source: %w", err))
		}
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"Every", c.Every}, {"Timeout", c.Timeout}, {"Grace", c.Grace}, {"Drain", c.Drain}} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("%s is %v: it must be positive (0 means the default)", d.field, d.value))
		}
	}
	switch d := c.withDefaults(); {
	case c.EmptyGrace < 0 && c.EmptyGrace != Off:
		errs = append(errs, fmt.Errorf("EmptyGrace is %v: it must be positive, or discover.Off", c.EmptyGrace))
	case c.EmptyGrace > 0 && d.EmptyGrace < d.Grace:
		errs = append(errs, fmt.Errorf("EmptyGrace is %v, shorter than Grace, %v: an answer that names nobody would count for more than one that names others; raise it", c.EmptyGrace, d.Grace))
	}
	if c.Most < 0 {
		errs = append(errs, fmt.Errorf("%s is %d: it must be positive (0 means 128)", "Most", c.Most))
	}
	return errors.Join(errs...)
}
