package connstring

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// CheckIntent reports what in a connection string of SQL Server keeps its connections
// from where they are meant to be. The driver knows one spelling of the intent, takes
// every other for none without a word, and asks for a database only where it knows the
// intent. One that the driver cannot read is the driver's to report.
func CheckIntent(dsn string, replica bool) error {
	p, ok := SQLServer(dsn)
	if !ok {
		return nil
	}
	intent, given := p["applicationintent"]
	readOnly := intent == "ReadOnly"
	var errs []error
	switch {
	case given && !readOnly && intent != "ReadWrite":
		errs = append(errs, fmt.Errorf("its ApplicationIntent is %q, which the driver takes for none without a word: write ApplicationIntent=ReadOnly, in exactly this spelling of the value", Shown(intent)))
	case replica && !readOnly:
		errs = append(errs, errors.New("its DSN does not ask for a replica, and a secondary may refuse such connections: add ApplicationIntent=ReadOnly"))
	case !replica && readOnly:
		errs = append(errs, errors.New("it is the primary, and its DSN asks for a replica: take ApplicationIntent=ReadOnly out"))
	}
	if replica && p["database"] == "" {
		errs = append(errs, errors.New("its DSN names no database: add database=.., without which a listener routes nobody"))
	}
	return errors.Join(errs...)
}

// Shown is as much of an intent as may be said: behind a quote or a brace that is not
// closed there may be a password.
func Shown(intent string) string {
	end := strings.IndexFunc(intent, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !strings.ContainsRune(" _-", r)
	})
	if end < 0 && len(intent) <= 40 {
		return intent
	}
	if end < 0 || end > 40 {
		end = 40
	}
	return intent[:end] + ".."
}
