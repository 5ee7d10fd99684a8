package readsplit

import (
	"github.com/readsplit/readsplit/catalog"
	"github.com/readsplit/readsplit/sqlclass"
)

// classify reads a statement's text, and what the database's catalogue says of the
// functions and views in it.
func (rt *router) classify(query string) sqlclass.Info {
	version := uint64(0)
	if rt.judging.Load() && rt.catalog != nil {
		// Asked before the text is judged: what is remembered may be newer than it says,
		// and then is not found again.
		version = 1 + rt.catalog.Version()
	}
	return rt.texts.of(query, version, rt.classified)
}

// classified is classify without what is remembered.
func (rt *router) classified(query string) sqlclass.Info {
	if rt.dialect == sqlclass.PostgreSQL && rt.judging.Load() {
		return rt.catalog.Classify(query)
	}
	return rt.judged(query, sqlclass.Classify(rt.dialect, query))
}

// judged adds what the catalogue says to what a statement's text says.
func (rt *router) judged(query string, info sqlclass.Info) sqlclass.Info {
	if rt.dialect == sqlclass.SQLServer {
		return rt.judgedThere(query, info)
	}
	if !rt.judging.Load() {
		return info
	}
	return rt.catalog.Judge(query, info)
}

// newCatalog makes what knows the functions of the primary's database. Where the
// application's pool is all there is, it is asked over that.
func (rt *router) newCatalog() *catalog.Catalog {
	c, _ := catalog.New(catalog.Config{ // its problems were reported by validate
		DB: rt.control.db, ReadFunctions: rt.cfg.ReadFunctions, WriteFunctions: rt.cfg.WriteFunctions,
		OnError: func(err error) {
			if rt.plugin.warn != nil {
				rt.plugin.warn("readsplit: what the functions and views of the database do cannot be learned; those that are not known are taken for writes: %v", err)
			}
		},
	})
	return c
}

// functions validates Config.ReadFunctions and Config.WriteFunctions.
func (v *problems) functions(c Config) {
	_, err := catalog.New(catalog.Config{ReadFunctions: c.ReadFunctions, WriteFunctions: c.WriteFunctions})
	if err != nil {
		v.errs = append(v.errs, err)
	}
}
