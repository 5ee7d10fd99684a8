package readsplit

import (
	"maps"
	"reflect"
	"strings"
	"sync/atomic"

	"gorm.io/gorm"
)

// quotes remembers how names look in quotes. GORM has its dialector quote each name of a
// statement anew, byte by byte and by way of the plugin's own dialector; this is quicker
// than the dialector alone would be, and gives back some of what a decision takes.
type quotes struct {
	known atomic.Pointer[map[string]string]
}

const (
	// mostQuotes and longestQuote bound what is remembered: names come from the program,
	// and not from its data, but for those of who puts data into them.
	mostQuotes   = 512
	longestQuote = 64
)

// quotesOf returns nil where nobody knows that the dialector quotes a name alike each time:
// one of the application's own may look at the statement, or at who asks.
func quotesOf(d gorm.Dialector) *quotes {
	t := reflect.TypeOf(d)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Name() != "Dialector" {
		return nil
	}
	switch t.PkgPath() {
	case "gorm.io/driver/postgres", "gorm.io/driver/sqlserver":
		return &quotes{}
	}
	return nil
}

// of returns a name in the quotes of d; ok is false where it is not to be remembered.
func (q *quotes) of(d gorm.Dialector, name string) (quoted string, ok bool) {
	known := q.known.Load()
	if known != nil {
		if quoted, ok = (*known)[name]; ok {
			return quoted, true
		}
		if len(*known) >= mostQuotes {
			return "", false
		}
	}
	if len(name) > longestQuote {
		return "", false
	}
	var b strings.Builder
	d.QuoteTo(&b, name)
	more := map[string]string{}
	if known != nil {
		more = maps.Clone(*known)
	}
	more[strings.Clone(name)] = b.String()
	q.known.CompareAndSwap(known, &more) // else the next one remembers it
	return b.String(), true
}
