// Package profile tells where a statement allocates and where it takes its time: what
// readsplit adds to plain GORM, function by function.
package profile
