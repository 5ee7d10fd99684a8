package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"time"
)

// crowd are people who use the shop until they are sent home: most order and look at
// their orders, two look at the report all the time.
type crowd struct {
	stop context.CancelFunc
	gone sync.WaitGroup
}

// thinks is the pause after each page.
const thinks = 50 * time.Millisecond

// welcome lets people in. Each is one goroutine; home joins them.
func welcome(shop string, customers int) *crowd {
	ctx, stop := context.WithCancel(context.Background())
	c := &crowd{stop: stop}
	for i := range customers {
		c.gone.Go(func() { customer(ctx, shop, fmt.Sprint("customer ", i)) })
	}
	for range 2 {
		c.gone.Go(func() { manager(ctx, shop) })
	}
	return c
}

// home sends them home, and returns when they are gone.
func (c *crowd) home() {
	c.stop()
	c.gone.Wait()
}

func customer(ctx context.Context, shop, name string) {
	client := visitor()
	defer client.CloseIdleConnections()
	for n := 0; pause(ctx, thinks); n++ {
		if n%10 == 0 {
			visit(ctx, client, http.MethodPost, shop+"/orders", url.Values{"customer": {name}, "tea": {"Assam"}})
		} else {
			visit(ctx, client, http.MethodGet, shop+"/orders?"+url.Values{"customer": {name}}.Encode(), nil)
		}
	}
}

func manager(ctx context.Context, shop string) {
	client := visitor()
	defer client.CloseIdleConnections()
	for pause(ctx, thinks) {
		visit(ctx, client, http.MethodGet, shop+"/report", nil)
	}
}

// visitor is a client with cookies and connections of its own, as a browser has.
func visitor() *http.Client {
	jar, _ := cookiejar.New(nil) // it never fails
	return &http.Client{Jar: jar, Transport: &http.Transport{}}
}

// visit asks for a page. That there is none is why the shop is observed.
func visit(ctx context.Context, client *http.Client, method, page string, form url.Values) {
	req, err := http.NewRequestWithContext(ctx, method, page, strings.NewReader(form.Encode()))
	if err != nil {
		return
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := client.Do(req)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
}

// pause reports whether to go on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
