package session

import "context"

// Store keeps what users must see, for applications that know who asks but cannot
// give them anything to carry: a [Token] per user, under any text that names them.
// Implementations are safe for concurrent use; package storetest has what each must
// satisfy.
//
// Nothing that a Store does is an error for the user: whoever calls it keeps the user
// on the primary when Load fails, and says "unsure" where it can when Advance fails.
type Store interface {
	// Load returns what user must see; the zero Token: nothing. A store that cannot
	// say that it still has everything it was given returns a Token whose Unsure is
	// set. It returns in time: implementations bound it, also when ctx does not.
	Load(ctx context.Context, user string) (Token, error)

	// Advance makes what is kept for user say at least what t says: of two positions
	// of one history the further counts, of two histories the later. It is kept until
	// t.Expires at least. When it has returned nil, every later Load anywhere says so.
	Advance(ctx context.Context, user string, t Token) error
}
