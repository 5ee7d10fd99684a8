package readsplit

// missesZone reports whether no replica stands in the zone of the process. In a zone
// that has none that is right; after a wrong letter every read crosses zones, and
// nothing but its bill would show it.
func missesZone(c Config) bool {
	if c.Discover.Source != nil {
		return false // who comes may stand there
	}
	all := append([]Replica(nil), c.Replicas...)
	for _, r := range c.Resolvers {
		all = append(all, r.Replicas...)
	}
	for i := range all {
		if all[i].Zone == c.Zone {
			return false
		}
	}
	return c.Zone != "" && len(all) > 0
}

func (p *Plugin) checkZone() {
	if missesZone(p.cfg) {
		p.warn("readsplit: Config.Zone is %q, and no Replica.Zone is: reads go to all zones alike; correct one of them, unless this zone has no replica", p.cfg.Zone)
	}
}
