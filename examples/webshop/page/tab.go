package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/chromedp"
)

// tab is the page in a browser.
type tab struct {
	ctx context.Context

	mu       sync.Mutex
	console  []string // errors
	requests []string // addresses
}

const (
	width, height           = 1000, 800
	phoneWidth, phoneHeight = 390, 844
)

func openTab(ctx context.Context, url string) (*tab, func(), error) {
	var options []chromedp.ExecAllocatorOption
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has none for root
	}
	ctx, leave := chromedp.NewContext(ctx, chromedp.WithAllocatorOptions(options...))
	t := &tab{ctx: ctx}
	if err := t.listen(); err != nil {
		leave()
		return nil, nil, err
	}
	err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height), chromedp.Navigate(url))
	if err != nil {
		leave()
		return nil, nil, err
	}
	return t, leave, nil
}

// listen keeps what the console says and what is asked for, from before the page is
// opened.
func (t *tab) listen() error {
	if err := t.call("Network.enable", nil, nil); err != nil {
		return err
	}
	console := chromedp.Console(t.ctx)
	go func() {
		for m, err := range console {
			if err != nil {
				return
			}
			if text := m.String(); m.IsException() || strings.Contains(strings.ToLower(text), "error") {
				t.mu.Lock()
				t.console = append(t.console, text)
				t.mu.Unlock()
			}
		}
	}()
	return chromedp.Do(t.ctx, chromedp.Func(func(_ context.Context, target *chromedp.Target) error {
		sent, end := target.Subscribe("Network.requestWillBeSent")
		go func() {
			defer end()
			for {
				select {
				case <-t.ctx.Done():
					return
				case raw, ok := <-sent:
					var e struct{ Request struct{ URL string } }
					if !ok || json.Unmarshal(raw, &e) != nil {
						return
					}
					t.mu.Lock()
					t.requests = append(t.requests, e.Request.URL)
					t.mu.Unlock()
				}
			}
		}()
		return nil
	}))
}

// call runs a command of the DevTools protocol.
func (t *tab) call(method string, params, result any) error {
	if params == nil {
		params = struct{}{}
	}
	return chromedp.Do(t.ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		return target.Call(ctx, method, params, result)
	}))
}

// complaints are errors of the console, and requests to anything but the page itself.
func (t *tab) complaints(url string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, text := range t.console {
		errs = append(errs, fmt.Errorf("the console says: %s", text))
	}
	for _, r := range t.requests {
		if !strings.HasPrefix(r, url) && !strings.HasPrefix(r, "data:") {
			errs = append(errs, fmt.Errorf("the page asks for %s", r))
		}
	}
	if len(t.requests) < 4 { // itself, its style, its script, its events
		errs = append(errs, fmt.Errorf("only %d requests were seen: nothing is proven of them", len(t.requests)))
	}
	return errors.Join(errs...)
}

// scheme makes the page light or dark.
func (t *tab) scheme(name string) error {
	return t.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": name}},
	}, nil)
}

func (t *tab) size(width, height int64) error {
	return chromedp.Do(t.ctx, chromedp.EmulateViewport(width, height))
}

func (t *tab) picture() ([]byte, error) { return chromedp.Run(t.ctx, chromedp.CaptureScreenshot()) }

// evaluate runs an expression of JavaScript, whose value is what JSON makes of it.
func evaluate[T any](t *tab, expression string) (v T, err error) {
	text, err := chromedp.Run(t.ctx, chromedp.Evaluate[string]("JSON.stringify("+expression+")"))
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal([]byte(text), &v)
}

// sight is what the page shows.
type sight struct {
	Headline, Level, Detail, Age string
	Cards                        map[string]shown
	Wide                         bool // there is something to the right of the window
}

// shown is one server's card.
type shown struct {
	State, Level, Shape, Advice, Lag, Button string
	Points                                   []float64 // of the plot, from the top; 40 is no lag
	Shades                                   int
}

func (t *tab) look() (sight, error) {
	return evaluate[sight](t, `(() => {
  const text = (e) => e ? e.textContent.trim() : '';
  const cards = {};
  for (const c of document.querySelectorAll('.server')) {
    const line = c.querySelector('svg .line');
    cards[text(c.querySelector('h3'))] = {
      State: text(c.querySelector('.state')), Level: c.className.replace('server ', ''),
      Shape: (({ clipPath, borderRadius }) => clipPath + ' ' + borderRadius)(getComputedStyle(c.querySelector('.shape'))),
      Advice: text(c.querySelector('.advice')), Lag: text(c.querySelector('.first dd')),
      Button: text(c.querySelector('button')),
      Points: line ? [...line.getAttribute('d').matchAll(/[ML][\d.]+ ([\d.]+)/g)].map((m) => Number(m[1])) : [],
      Shades: c.querySelectorAll('svg rect').length,
    };
  }
  return {
    Headline: text(document.getElementById('headline')), Level: document.getElementById('summary').className,
    Detail: text(document.getElementById('detail')), Age: text(document.getElementById('age')), Cards: cards,
    Wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
  };
})()`)
}

// patience is how long the page may take to show what has happened.
const patience = 45 * time.Second

// until looks again and again.
func (t *tab) until(what string, ok func(sight) bool) (s sight, err error) {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if s, err = t.look(); err != nil || ok(s) {
			return s, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return s, fmt.Errorf("the page does not show %s; it shows %+v", what, s)
		}
	}
}
