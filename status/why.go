package status

import "errors"

// why is the innermost of an error: what wraps it names users, databases and hosts of a
// DSN, which the page must not show.
func why(err error) string {
	for err != nil {
		var inner error
		switch e := err.(type) { //nolint:errorlint // looks into it
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 0 {
				inner = all[0]
			}
		default:
			inner = errors.Unwrap(err)
		}
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
	return ""
}
