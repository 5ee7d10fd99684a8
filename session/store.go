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
	// set, for as long as what it may have lost would have counted. A time that has
	// passed will do where nothing of that was unsure itself: it keeps nobody from
	// the replicas, and asks for what the primary has then. It returns in time:
	// implementations bound it, also when ctx does not.
	Load(ctx context.Context, user string) (Token, error)

	// Advance makes what is kept for user say at least what t says: what Token.Merge
	// makes of both. It is kept until t.Expires at least. Where t is unsure and ends no
	// earlier than what is kept, positions that t does not name may be left out: they are
	// covered, and one of before a change of primary would never go away. A ctx that has ended is no
	// reason to give up, because what t says has happened. When it has returned nil,
	// every later Load anywhere says so.
	Advance(ctx context.Context, user string, t Token) error
}
