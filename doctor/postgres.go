package doctor

import (
	"context"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"
)

// postgres asks servers of PostgreSQL.
type postgres struct{}

func (postgres) name() string { return "PostgreSQL" }

func (postgres) speaks(string) bool { return true }

func (postgres) examine(ctx context.Context, t Topology) ([]Examined, []Finding) {
	v := &view{Topology: t}
	var findings []Finding
	for i, s := range append([]Server{t.Primary}, t.Replicas...) {
		if i > 0 && !(postgres{}).same(s.DSN) {
			continue // said by kindOf
		}
		cfg, err := readDSN(s.DSN)
		if err != nil {
			v.all = append(v.all, &facts{name: s.Name, primary: i == 0})
			findings = append(findings, badDSN(s.Name))
			continue
		}
		hosts := hostsOf(cfg)
		if i > 0 {
			hosts = []*pgx.ConnConfig{cfg}
		}
		for _, host := range hosts {
			f := newFacts(s.Name, i == 0, host, t.Timeout)
			if len(hosts) > 1 {
				f.host = addressOf(host)
			}
			v.all = append(v.all, f)
		}
	}
	var wg sync.WaitGroup
	for _, f := range v.all {
		if f.cfg != nil {
			wg.Go(func() { f.gather(ctx, t) })
		}
	}
	wg.Wait()
	v.choose()
	v.watch(ctx)
	for _, f := range v.all {
		f.close()
	}
	return v.examined(), append(findings, v.judge()...)
}

func (postgres) same(dsn string) bool { _, ok := engineOf(dsn).(postgres); return ok }

// badDSN says nothing of what the parser says: it quotes parts of the DSN, of which
// any may be a password with a character that should have been escaped.
func badDSN(server string) Finding {
	return found(DSNInvalid, Problem, server,
		"Write postgres://user:password@host:5432/database, with %40 for @, %2F for / and %25 for % in the password, or host=.. port=.. dbname=.. user=.. password='..'.",
		"The DSN cannot be read. It is not shown, since it may hold a password.")
}

// view is everything that was learned, for the judges.
type view struct {
	Topology
	all []*facts
	// primary is the server that was declared as one, of several hosts the one that is
	// one; nil when none answered.
	primary *facts
	rounds  []round
}

// choose finds the primary among the hosts of its DSN: the one on the highest
// timeline that is not in recovery, else any that answered.
func (v *view) choose() {
	for _, f := range v.all {
		if !f.primary || !f.answered() {
			continue
		}
		p := v.primary
		if p == nil || p.about.Recovery && !f.about.Recovery ||
			p.about.Recovery == f.about.Recovery && f.sample.Timeline > p.sample.Timeline {
			v.primary = f
		}
	}
}

// leads reports whether there is a primary to compare with.
func (v *view) leads() bool { return v.primary != nil && !v.primary.about.Recovery }

// replicas are those that answered.
func (v *view) replicas() []*facts {
	var all []*facts
	for _, f := range v.all {
		if !f.primary && f.answered() {
			all = append(all, f)
		}
	}
	return all
}

// asked are the servers that settings are judged of: the primary that was chosen,
// and the replicas.
func (v *view) asked() []*facts {
	if v.primary == nil {
		return v.replicas()
	}
	return append([]*facts{v.primary}, v.replicas()...)
}

func (v *view) examined() []Examined {
	var all []Examined
	for _, f := range v.all {
		e := Examined{Name: f.name, Declared: "replica", Answered: f.answered()}
		if f.primary {
			e.Declared = "primary"
		}
		if f.cfg != nil {
			e.Address = addressOf(f.cfg)
		}
		if e.Answered {
			e.Is, e.Product, e.Version, e.Timeline = "primary", (postgres{}).name(), f.about.Version, f.timeline()
			if f.about.Recovery {
				e.Is = "standby"
			}
			if f.sample.System != 0 {
				e.System = strconv.FormatUint(f.sample.System, 10)
			}
		}
		if l, ok := v.lagOf(f); ok && !f.primary && f.about.Recovery && !v.foreign(f) {
			e.Behind = &l.bytes
			if l.known {
				s := l.age.Seconds()
				e.Lag = &s
			}
		}
		all = append(all, e)
	}
	return all
}
