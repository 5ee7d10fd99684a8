// Package storetest tells whether a [session.Store] does what its users rely on.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) session.Store { return newStore(t) })
//	}
//
// What only some stores have (several processes that share it, data that can be lost,
// a server that can hang) is tested where an [Option] says how.
package storetest
