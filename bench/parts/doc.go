// Package parts measures what a statement passes through, each alone: policies, balancers,
// decisions, classification, tokens, and the memory of a session.
package parts
