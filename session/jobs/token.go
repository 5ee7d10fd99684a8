package jobs

import (
	"context"
	"fmt"

	"github.com/readsplit/readsplit"
)

// Header is under which name [Put] keeps a token in the headers of a message.
const Header = "x-last-write-lsn"

// Token returns a text to keep with a job that is enqueued now: letters, digits,
// dots, dashes, underscores and, where tokens of several services travel together,
// tildes and an asterisk. The job sees what the session of ctx wrote and, of whoever
// wrote it, everything that was committed before Token was called.
//
// It asks the primary once; jobs that are enqueued at the same time share the
// question. If no answer can be had within two seconds, the token says "unsure": the
// job reads from the primary for Config.StickyWindow. Where no plugin is in use and
// nothing of other services was joined, the text is empty, and [Begin] makes up for it.
//
// While a transaction of the session is open Token fails with
// readsplit.ErrTokenInTransaction: the job could run before the commit, and nothing
// that it could wait for is known yet. A transaction without a session is not
// noticed.
func Token(ctx context.Context) (string, error) {
	job := readsplit.NewSession()
	job.CatchUp()
	own, err := readsplit.SessionFrom(ctx).Token(ctx)
	if err == nil {
		job.Join(own)
		own, err = job.Token(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("readsplit: no token for a job: enqueue it after the commit, or write it to an outbox and use jobs.Capture where it is taken out: %w", err)
	}
	return own, nil
}

// Capture returns a token of everything that was committed before Capture was
// called, whoever wrote it. It is for those who take messages from an outbox: call it
// after the messages were read from the primary, once for all of them, also inside
// the transaction that read them. A token that was taken before is too old, and so
// is a position that the writing transaction put into its own message.
//
// It asks the primary as [Token] does, and says "unsure" where Token would.
func Capture(ctx context.Context) string {
	all := readsplit.NewSession()
	all.CatchUp()
	token, err := all.Token(ctx)
	if err != nil {
		return "" // never: nobody else has this session, and so no transaction of it
	}
	return token
}

// Put is [Token] into the headers of a message, under the name [Header].
func Put(ctx context.Context, headers map[string]string) error {
	token, err := Token(ctx)
	if err != nil {
		return err
	}
	if token == "" {
		delete(headers, Header) // that of the message that these were copied from
		return nil
	}
	headers[Header] = token
	return nil
}

// Take returns the token that [Put] left in the headers of a message; empty: none.
func Take(headers map[string]string) string { return headers[Header] }
