// Package report makes the page of what was measured: its tables, its plots, and the cases
// that readsplit loses.
package report
