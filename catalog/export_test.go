package catalog

// LimitRows makes loads of more rows fail. It is called before Start.
func (c *Catalog) LimitRows(n int) { c.asked = server{c.cfg.DB, n} }

// LookOften makes looks as frequent as Every, however long they take. It is called
// before Start.
func (c *Catalog) LookOften() { c.apart = 1 }
