// Package repo holds the rules of the repository itself as tests: which package
// may import which, and what is exported.
package repo
