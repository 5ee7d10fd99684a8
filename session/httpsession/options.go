package httpsession

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/readsplit/readsplit/session"
)

// Carry says what carries the token between the client and the application.
type Carry uint8

// Carriers.
const (
	Cookie Carry = iota // a cookie; browsers need nothing else
	Header              // a header of the same name in both directions, for clients that are programs
	Both                // both
	None                // nothing: Options.Store knows by the user
)

// Mark is what an endpoint, or a group of them, asks for: UseReplica, Fresh and the
// others of this package, or any middleware.
type Mark = func(http.Handler) http.Handler

// Options say how sessions travel. The zero value of every field is right.
type Options struct {
	// Name is the name of the header, and how the names of the cookies begin. Two
	// applications that share a domain and no database need names of their own, of
	// which none begins with the other and a dash. Defaults to "X-Last-Write-Lsn".
	Name string

	// Carry says what carries the token. Defaults to Cookie.
	Carry Carry

	// Path, Domain and SameSite are the cookies' attributes. SameSiteStrictMode leaves
	// out users who come by a link from elsewhere. Default to "/", none (this host
	// alone) and http.SameSiteLaxMode.
	Path     string
	Domain   string
	SameSite http.SameSite

	// Insecure lets the cookies travel over plain HTTP, for development. Defaults to
	// false: browsers send them over TLS alone, and most of them to localhost.
	Insecure bool

	// Wait is how long a response may wait for the position of what its request has
	// written, and for the store. At most 1 s. Defaults to 1 s.
	Wait time.Duration

	// Hold is how many bytes of a response are kept back while a transaction of its
	// request is open, so that the header can tell what is committed afterwards. Beyond
	// that the header goes out and says "unsure". -1: nothing is kept. Defaults to
	// 64 KiB.
	Hold int

	// Routes are marks by pattern, as http.ServeMux has them: "GET /report",
	// "/admin/", "GET api.example.com/feed/{id}". Of the patterns that match a request
	// the most specific counts, alone. Defaults to none.
	Routes map[string]Mark

	// Store keeps what users must see beside the carrier, for those who come with
	// another device or carry nothing. User or Identify says who that is. A call to it
	// takes as long as Wait at most. Defaults to none.
	Store session.Store

	// User names who sends a request, in the Store, from the request alone; "" where that
	// is not known, or where the request does not touch the database: then the Store is
	// not asked. Needs Store. Defaults to Identify alone.
	User func(r *http.Request) string

	// Logger is told of mistakes, once for each place. Defaults to slog.Default().
	Logger *slog.Logger
}

const (
	defaultName = "X-Last-Write-Lsn"
	defaultWait = time.Second
	defaultHold = 64 << 10
	maxWait     = time.Second // a session waits no longer for a position
	maxHold     = 16 << 20
)

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = defaultName
	}
	if o.Path == "" {
		o.Path = "/"
	}
	if o.SameSite == 0 {
		o.SameSite = http.SameSiteLaxMode
	}
	if o.Wait == 0 {
		o.Wait = defaultWait
	}
	if o.Hold == 0 {
		o.Hold = defaultHold
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

type problems struct{ errs []error }

func (p *problems) add(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("readsplit: httpsession: Options."+format, args...))
}

// validate reports every problem at once. o has its defaults.
func (o Options) validate(p *problems) {
	if o.Carry > None {
		p.add("Carry is %d: it must be Cookie, Header, Both or None", o.Carry)
	}
	if o.Wait < 0 || o.Wait > maxWait {
		p.add("Wait is %v: it must be positive and at most %v (0 means the default)", o.Wait, maxWait)
	}
	if o.Hold < -1 || o.Hold > maxHold {
		p.add("Hold is %d: it must be at most %d bytes, or -1 to keep nothing back (0 means the default)", o.Hold, maxHold)
	}
	switch {
	case reflect.ValueOf(o.Store).Kind() == reflect.Pointer && reflect.ValueOf(o.Store).IsNil():
		p.add("Store is a nil %T: leave it out, or give what its constructor returned", o.Store)
	case o.Store == nil && o.User != nil:
		p.add("User is set, but Store is nil: there is nothing to ask about users; set Store, or leave User out")
	case o.Store == nil && o.Carry == None:
		p.add("Carry is None, but Store is nil: nothing would follow anybody; set Store, or let a cookie carry")
	}
	o.validateCookie(p)
}

func (o Options) validateCookie(p *problems) {
	if err := (&http.Cookie{Name: o.Name}).Valid(); err != nil {
		p.add("Name is %q: it must be a name that a cookie and a header can have, of letters, digits and dashes", o.Name)
	}
	if !o.Carry.cookie() {
		return
	}
	if err := (&http.Cookie{Name: "n", Path: o.Path}).Valid(); err != nil || !strings.HasPrefix(o.Path, "/") {
		p.add(`Path is %q: it must begin with "/", as the URLs do that the application answers`, o.Path)
	}
	if err := (&http.Cookie{Name: "n", Domain: o.Domain}).Valid(); err != nil {
		p.add(`Domain is %q: it must be a domain, such as "example.com", or empty for this host alone`, o.Domain)
	}
	if o.SameSite < http.SameSiteDefaultMode || o.SameSite > http.SameSiteNoneMode {
		p.add("SameSite is %d: it must be one of net/http's modes", o.SameSite)
	}
	if o.SameSite == http.SameSiteNoneMode && o.Insecure {
		p.add("SameSite is http.SameSiteNoneMode and Insecure is true: browsers refuse such cookies; leave one of them out")
	}
	switch lower := strings.ToLower(o.Name); {
	case strings.HasPrefix(lower, "__host-") && (o.Insecure || o.Domain != "" || o.Path != "/"):
		p.add(`Name is %q: browsers take cookies of that name only with Path "/", without Domain and without Insecure`, o.Name)
	case strings.HasPrefix(lower, "__secure-") && o.Insecure:
		p.add("Name is %q: browsers take cookies of that name only without Insecure", o.Name)
	}
}

func (p *problems) err() error { return errors.Join(p.errs...) }

func (c Carry) cookie() bool { return c == Cookie || c == Both }

func (c Carry) header() bool { return c == Header || c == Both }
