package catalog_test

import (
	"fmt"

	"github.com/readsplit/readsplit/catalog"
	"github.com/readsplit/readsplit/sqlclass"
)

// Without a database only what is declared counts. With Config.DB, and after Start,
// the volatility of every function and what stands behind every view count too.
func ExampleCatalog_Judge() {
	c, err := catalog.New(catalog.Config{
		ReadFunctions:  []string{"billing.total"},
		WriteFunctions: []string{"pg_size_pretty"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for _, sql := range []string{
		"SELECT billing.total(42)",
		"SELECT billing.charge(42)",
		"SELECT pg_size_pretty(1024::bigint)",
	} {
		info := sqlclass.Classify(sqlclass.PostgreSQL, sql)
		fmt.Println(info.Class, "->", c.Judge(sql, info).Class)
	}
	// Output:
	// unknown -> read
	// unknown -> unknown
	// read -> unknown
}

func ExampleNew_refused() {
	_, err := catalog.New(catalog.Config{ReadFunctions: []string{"total(int)"}})
	fmt.Println(err)
	// Output:
	// readsplit: Config.ReadFunctions[0] is "total(int)": it is no name as SQL has it: write function or schema.function without arguments, other characters than letters, digits, _ and $ in double quotes
}
