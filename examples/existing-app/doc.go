// Package existingapp holds a help desk twice: before it had replicas, on plain GORM, and
// after. What lies between is move.diff.
package existingapp
