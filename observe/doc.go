// Package observe says what the plugin does, to whoever listens: metrics, traces,
// logs, a page.
//
// An observer is anything that implements one or more of the interfaces of this
// package, each of which has one method. It is called where the thing happens, on the
// goroutine of the statement: it must be quick, must not block, and must not use the
// gorm.DB that it observes. Nobody listening costs nothing. One that panics harms no
// statement and no other observer; the first panic is logged by GORM's logger.
//
// No event says a DSN, a token, or what a statement binds or reads. Its errors are the
// driver's own, so that errors.As finds what they are: log their text, as slog does. What
// prints the fields of a *pgconn.ConnectError by reflection prints its configuration.
package observe
