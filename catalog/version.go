package catalog

// Version counts how often what is known of the database has changed: as long as it is
// the same, so is what Judge says of a text.
func (c *Catalog) Version() uint64 { return c.snapshot.Load().version }

// replace puts s, which nobody else knows yet, in use. The caller holds mu, or is the
// only one to know c.
func (c *Catalog) replace(s *snapshot) {
	before := c.snapshot.Load()
	if s == before {
		return // nothing was forgotten
	}
	if before != nil {
		s.version = before.version + 1
	}
	c.snapshot.Store(s)
}
