// Package explain holds the answer of readsplit.Explain: for each statement that a
// piece of code would run, which servers it may run on and why, rule by rule.
//
// A [Report] is for people, by String, and for tests, which look at Servers and
// Reason of its statements. Nothing of it was run: no statement, no question to any
// server. Each query is taken to find no row, so that what depends on rows (the text
// of a preload, what a loop does with them) is explained as far as it can be, and
// [Statement.Notes] and [Report.Notes] say where that ends.
package explain
