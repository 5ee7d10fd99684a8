// Package explaintest asserts, in the tests of an application, where its statements
// would go. Nothing is run: a repository's methods can be asked without rows to find,
// and a failure shows the whole explanation.
//
//	explaintest.MayUseReplica(t, ctx, db, func(tx *gorm.DB) *gorm.DB {
//		return NewOrders(tx).OfUser(id)
//	})
//	explaintest.UsesPrimary(t, ctx, db, policy.ReasonFresh, func(tx *gorm.DB) *gorm.DB {
//		return NewAccounts(tx).Balance(id)
//	})
package explaintest
