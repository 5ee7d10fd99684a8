// Package overload bounds what an overloaded server is asked: a budget of reads
// that run on the primary because no replica was right for them, priorities of
// who may go first, and the gate that counts.
//
// When the replicas fall behind, every read that wanted one lands on the primary,
// which was sized for its writes. A budget lets that many of them run there at a
// time, and says what becomes of the others.
//
// The package starts no goroutine and knows no database. [Gate] can be used alone.
package overload
