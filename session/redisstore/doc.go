// Package redisstore keeps what users must see in Redis or Valkey, for several
// processes that know their users but cannot give them anything to carry: a
// [session.Store] over any go-redis client but a Ring.
//
//	store, err := redisstore.New(client, redisstore.Options{})
//	token, err := store.Load(ctx, user)      // one round trip, at most Options.Timeout
//	err = store.Advance(ctx, user, token)    // the same, atomic: two writers never lose one
//
// Redis may forget: it is restarted empty or from an older file, it evicts, a replica
// that lacks the last writes is promoted. Whoever may have lost something is unsure
// then, and reads what the primary has now; nobody gets an error. How each loss is
// noticed, and what is not, is said at [Store].
package redisstore
