package readsplit

import (
	"errors"
	"fmt"
	"time"

	"github.com/readsplit/readsplit/session"
)

// Token is the content of a session token.
type Token = session.Token

// ParseToken reads the text of a session token with c's keys, for code that
// wants to look inside; a session reads it back with Session.Join, which never
// fails. The error is a *session.TokenError and never contains the text.
func (c Config) ParseToken(text string) (Token, error) {
	keys, err := session.NewKeys(c.TokenKeys...)
	if err != nil {
		return Token{}, fmt.Errorf("readsplit: Config.TokenKeys: %w", err)
	}
	return keys.Decode(text, time.Now())
}

// isExpired reports whether a token was refused only because it is too old: its
// positions are genuine.
func isExpired(err error) bool {
	var refused *session.TokenError
	return errors.As(err, &refused) && refused.Kind == session.TokenExpired
}
