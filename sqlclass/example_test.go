package sqlclass_test

import (
	"fmt"

	"github.com/readsplit/readsplit/sqlclass"
)

func ExampleClassify() {
	for _, sql := range []string{
		"SELECT * FROM users WHERE name = 'FOR UPDATE'",
		"SELECT * FROM users FOR UPDATE SKIP LOCKED",
		"WITH gone AS (DELETE FROM carts RETURNING id) SELECT count(*) FROM gone",
		"SELECT add_tax(price) FROM items",
		"SELECT 1; DROP TABLE users",
	} {
		info := sqlclass.Classify(sqlclass.PostgreSQL, sql)
		fmt.Printf("%s %s [%s]\n", info.Class, info.Verb, info.Flags)
	}
	// Output:
	// read select []
	// locking_read select []
	// write select []
	// unknown select [unlisted_calls]
	// write select [multi|ddl]
}

func ExampleFunctions() {
	sql := `SELECT lower(name), app.add_tax(price), "Total"(id) FROM items`
	sqlclass.Functions(sqlclass.PostgreSQL, sql, func(name string) bool {
		fmt.Println(name)
		return true
	})
	// Output:
	// lower
	// app.add_tax
	// "Total"
}

func ExampleRelations() {
	sql := `WITH paid AS (SELECT * FROM app.orders o JOIN "Payments" p USING (id)) SELECT * FROM paid, users WHERE note <> ' FROM x'`
	sqlclass.Relations(sqlclass.PostgreSQL, sql, func(name string) bool {
		fmt.Println(name)
		return true
	})
	// Output:
	// app.orders
	// "Payments"
	// paid
	// users
}

func ExampleClassifyCalls() {
	sql := `SELECT lower(name), app.add_tax(price), "Total"(id) FROM items`
	info := sqlclass.ClassifyCalls(sqlclass.PostgreSQL, sql, func(name string) {
		fmt.Println("if", name, "reads only")
	})
	fmt.Println("it is a read, now", info.Class, info.Flags)
	// Output:
	// if app.add_tax reads only
	// if "Total" reads only
	// it is a read, now unknown unlisted_calls
}
