package session

import "errors"

// ErrToken is what every refusal of a token by [Keys.Decode] wraps. What to do
// is the same for all of them: count it, and treat the session as unsure, so
// that it reads from the primary; a user must never see it.
var ErrToken = errors.New("readsplit: token refused")

// TokenErrorKind says why a token was refused; its value is the label of a
// metric.
type TokenErrorKind string

// Kinds of refusal.
const (
	// TokenMalformed: damaged, truncated, or not a token.
	TokenMalformed TokenErrorKind = "malformed"
	// TokenVersion: of another version of the format.
	TokenVersion TokenErrorKind = "version"
	// TokenUnsigned: not signed, though a key is configured.
	TokenUnsigned TokenErrorKind = "unsigned"
	// TokenBadSignature: signed by none of the configured keys, or forged.
	TokenBadSignature TokenErrorKind = "bad_signature"
	// TokenFuture: issued more than MaxTokenSkew from now.
	TokenFuture TokenErrorKind = "future"
	// TokenExpired: genuine, but its lifetime is over.
	TokenExpired TokenErrorKind = "expired"
)

// TokenError is the refusal of a token. It never holds the token's text: who
// reads a log could otherwise act as its owner.
type TokenError struct {
	Kind   TokenErrorKind
	reason string
}

// Error names the kind, the reason and, where there is one, the remedy.
func (e *TokenError) Error() string {
	s := ErrToken.Error() + ": " + string(e.Kind)
	if e.reason != "" {
		s += ": " + e.reason
	}
	return s
}

// Unwrap makes every TokenError an [ErrToken].
func (e *TokenError) Unwrap() error { return ErrToken }

func malformed(reason string) *TokenError {
	return &TokenError{Kind: TokenMalformed, reason: reason}
}
