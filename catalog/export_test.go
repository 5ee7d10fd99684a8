package catalog

// LimitRows makes loads of more rows fail. It is called before Start.
func (c *Catalog) LimitRows(n int) { c.asked = server{c.cfg.DB, n} }
