package readsplit

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/discover"
	"github.com/readsplit/readsplit/internal/dialect"
)

// templateDialector is whose DSN servers that are found are opened with.
func (p *Plugin) templateDialector() gorm.Dialector {
	switch {
	case !isNil(p.cfg.Discovered.Dialector):
		return p.cfg.Discovered.Dialector
	case !isNil(p.cfg.Primary):
		return p.cfg.Primary
	}
	return p.db.Dialector
}

// completed is a source whose servers have a port. Where it asks the primary, that is
// the plugin's.
type completed struct {
	d *discovery
	discover.Source
}

// Lookup implements [discover.Source].
func (c completed) Lookup(ctx context.Context) ([]discover.Server, error) {
	// The control connections follow the primary where it is followed.
	found, err := discover.Bound(c.Source, c.d.p.main.control.db).Lookup(ctx)
	found = append([]discover.Server(nil), found...)
	for i := range found {
		if found[i].Port == 0 {
			found[i].Port = c.d.port
		}
	}
	return found, err
}

// String implements [fmt.Stringer].
func (c completed) String() string { return discover.NameOf(c.Source) }

// replica is a server that was found, as the template has it.
func (d *discovery) replica(s discover.Server) (Replica, error) {
	r := d.p.cfg.Discovered
	r.Name = s.Name
	if s.Weight > 0 {
		r.Weight = s.Weight
	}
	if s.Zone != "" {
		r.Zone = s.Zone
	}
	if s.Groups != nil {
		r.Groups = s.Groups
	}
	if d.p.cfg.DiscoverOpen != nil {
		var err error
		r.Dialector, err = d.open(s)
		return r, err
	}
	made, ok := dialect.At(d.template, s.Host, s.Address, s.Port)
	if !ok {
		return r, errTemplate
	}
	r.Dialector = made
	return r, nil
}

// open is Config.DiscoverOpen. One that panics refuses the server: in the goroutine of the
// watch it would end the process.
func (d *discovery) open(s discover.Server) (made gorm.Dialector, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("readsplit: Config.DiscoverOpen panicked: %v", cause)
		}
	}()
	return d.p.cfg.DiscoverOpen(s), nil
}

var errTemplate = errors.New("readsplit: Config.Discovered.Dialector (or what stands in for it: Config.Primary, or what gorm.Open got) has no DSN of PostgreSQL in which another server could stand: use postgres.Open(dsn), or set Config.DiscoverOpen")

// discovery reports what is wrong with what Discover finds, before it has found anything.
func (v *problems) discovery(c Config) {
	if err := c.Discover.Validate(); err != nil {
		v.errs = append(v.errs, fmt.Errorf("readsplit: Config.Discover: %w", err))
	}
	r := c.Discovered
	if c.Discover.Source == nil {
		if c.DiscoverOpen != nil {
			v.add("Config.DiscoverOpen is set, but Config.Discover.Source is nil: nothing would be discovered; set it, or leave DiscoverOpen out")
		}
		if r.Weight == 1 {
			r.Weight = 0 // the default
		}
		if !reflect.ValueOf(r).IsZero() {
			v.add("Config.Discovered is set, but Config.Discover.Source is nil: nothing would be discovered; set it, or leave Discovered out")
		}
		return
	}
	if isNil(r.Dialector) {
		r.Dialector = anyDialector{}
	}
	v.replicaAlone("Config.Discovered", r)
	v.statedLag("Config.Discovered", r, c)
}

// anyDialector stands for the dialector that is known at db.Use.
type anyDialector struct{ gorm.Dialector }
