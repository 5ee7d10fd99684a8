// Package budget measures what may be spent, against limits: ratios of what takes turns
// in one run, counts, and the least of many short slices, so that noise does not decide.
// Whatever is near its limit is measured for longer.
package budget
