//go:build !race

package repo

const raced = false
