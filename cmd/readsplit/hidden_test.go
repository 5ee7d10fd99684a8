package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestNoMisreadDSNIsShown gives passwords that should have been escaped or quoted, and
// that are read as hosts, databases, users or parameters: call looks for them in all
// that is written.
func TestNoMisreadDSNIsShown(t *testing.T) {
	const sound = "host=127.0.0.1 port=1 dbname=shop user=shop application_name=shop sslmode=disable"
	for _, dsn := range []string{
		"postgres://shop:a@hidden@127.0.0.1:1/shop",
		"postgres://shop:12/hidden@127.0.0.1:1/shop",
		"postgres://shop:12?hidden=x@127.0.0.1:1/shop",
		"postgres://shop:12#hidden@127.0.0.1:1/shop",
		"postgres://shop:a,hidden@127.0.0.1:1/shop",
		"shop:hidden@127.0.0.1:1/shop",
		"host=127.0.0.1 port=1 user=shop password=my hidden dbname=shop",
		"host=127.0.0.1 port=1 user=shop dbname=shop password=my hidden",
		"host=127.0.0.1 port=1 user=shop dbname=shop;password=hidden",
		"host=127.0.0.1 port=1 dbname=shop user=shop;password=hidden",
		"host=ag1;password=hidden;database=shop",
		"user=sa;password=hidden;database=shop",
		"env:postgres://shop:hidden@127.0.0.1:1/shop", // env:$PRIMARY_DSN
		"env:hidden host=127.0.0.1",
	} {
		for _, server := range [][]string{
			{"-primary", dsn}, {"-primary", sound, "-replica", "pg2=" + dsn}, {"-primary", sound, "-replica", dsn}, {"-status", dsn},
		} {
			for _, format := range []string{"-json=false", "-json"} {
				args := append([]string{"doctor", "-watch", "0s", "-timeout", "20s", format}, server...)
				_, out, errs := call(t, nil, args...)
				assert.NotEmpty(t, out+errs, args)
			}
		}
	}
	_, _, errs := call(t, nil, "doctor", "-primary", "env:postgres://shop:hidden@127.0.0.1:1/shop")
	assert.Equal(t, "readsplit: what stands behind env: is no name of a variable; it is not shown, since it may hold a password: write env:NAME, without a $\n", errs)
}

// TestASemicolonInAPassword is PostgreSQL's: it is no connection string of SQL Server.
func TestASemicolonInAPassword(t *testing.T) {
	for _, dsn := range []string{
		"host=127.0.0.1 port=1 dbname=shop user=shop sslmode=disable password='a;hidden'",
		"password=a;hidden host=127.0.0.1 port=1 dbname=shop user=shop sslmode=disable",
	} {
		code, out, _ := call(t, nil, "doctor", "-primary", dsn, "-watch", "0s", "-timeout", "20s")
		assert.Equal(t, 3, code)
		assert.Contains(t, out, "PROBLEM unreachable: primary")
	}
}
