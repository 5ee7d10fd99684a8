// Package journey is what customers of the tea shop do, seen from outside: they send
// requests, keep the cookies that they are given, and look whether what they have
// ordered is in their list. They know nothing of processes, servers and tokens.
package journey

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/readsplit/readsplit/examples/webshop/stage"
	"github.com/readsplit/readsplit/examples/webshop/trace"
)

// visitor is somebody with a browser: a jar of cookies, and nothing else. Requests may
// be sent at once, as from several tabs.
type visitor struct {
	shop  *Shop
	jar   http.CookieJar // nil: keeps none
	again http.CookieJar // whose cookies are sent, and not kept; nil: jar
}

// Shop is the shop that is visited.
type Shop struct {
	URL     string
	Weather *stage.Weather
	Tally   *Tally

	transport *http.Transport
}

// NewShop returns the shop at an address. Close it.
func NewShop(address string, weather *stage.Weather) *Shop {
	return &Shop{
		URL: address, Weather: weather, Tally: NewTally(),
		transport: &http.Transport{MaxIdleConnsPerHost: 2 * clients, IdleConnTimeout: time.Minute},
	}
}

// Close closes the connections to the shop.
func (s *Shop) Close() { s.transport.CloseIdleConnections() }

func (s *Shop) newVisitor() *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		panic(err) // it has no options that could be wrong
	}
	return &visitor{shop: s, jar: jar}
}

// page is an answer of the shop.
type page struct {
	status   int
	location string
	body     string
}

// form is what is posted.
type form map[string]string

// get asks for a path. endpoint is how it is called in the table.
func (v *visitor) get(ctx context.Context, endpoint, path string) (page, error) {
	return v.send(ctx, http.MethodGet, endpoint, path, nil)
}

func (v *visitor) post(ctx context.Context, endpoint, path string, f form) (page, error) {
	return v.send(ctx, http.MethodPost, endpoint, path, f)
}

func (v *visitor) send(ctx context.Context, method, endpoint, path string, f form) (page, error) {
	values := make(url.Values, len(f))
	for key, value := range f {
		values.Set(key, value)
	}
	var body io.Reader = http.NoBody
	if f != nil {
		body = strings.NewReader(values.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, v.shop.URL+path, body)
	if err != nil {
		return page{}, err
	}
	if f != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if v.again != nil {
		for _, c := range v.again.Cookies(req.URL) {
			req.AddCookie(c)
		}
	}
	// Redirects are followed by whoever asked, so that each request is counted as
	// what it is.
	client := http.Client{Transport: v.shop.transport, Jar: v.jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	from, began := v.shop.Weather.Now(), time.Now()
	res, err := client.Do(req)
	if err != nil {
		return page{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	text, err := io.ReadAll(res.Body)
	if closed := res.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return page{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	v.shop.Tally.add(endpoint, stage.Between(from, v.shop.Weather.Now()), time.Since(began), trace.Parse(res.Header.Get("Server-Timing")))
	return page{res.StatusCode, res.Header.Get("Location"), string(text)}, nil
}

// want fails when the status of p is another.
func (p page) want(status int) error {
	if p.status == status {
		return nil
	}
	return fmt.Errorf("the shop answers with status %d and not %d: %s", p.status, status, message(p.body))
}

var (
	orderRow    = regexp.MustCompile(`data-order="(\d+)"`)
	productRow  = regexp.MustCompile(`data-product="(\d+)"`)
	productLink = regexp.MustCompile(`href="/products/(\d+)"`)
	refusal     = regexp.MustCompile(`<p class="empty"[^>]*>([^<]*)`)
)

func message(body string) string {
	if m := refusal.FindStringSubmatch(body); m != nil {
		return m[1]
	}
	return "no message"
}

func numbers(body string, row *regexp.Regexp) (all []int64) {
	for _, m := range row.FindAllStringSubmatch(body, -1) {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err == nil { // it is made of digits, but may be too long
			all = append(all, n)
		}
	}
	return all
}
