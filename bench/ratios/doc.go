// Package ratios compares single statements with plain GORM's and dbresolver's for as long
// as somebody waits for it: it judges a step of work on readsplit, where package budget
// judges the result.
package ratios
