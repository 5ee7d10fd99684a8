package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/chromedp/chromedp"
)

// sight is a page right after something was written.
type sight struct {
	name    string // cart or orders
	there   bool   // what was written
	picture []byte // PNG
}

const (
	width, height = 960, 540
	// catchUp is more than the replicas are behind.
	catchUp = 15 * time.Second
)

// visit is one visit of a browser. behind is called when the customer has signed in;
// look is shown the cart and the orders, each as it is at once.
func visit(ctx context.Context, address string, behind func(context.Context) error, look func(sight) error) error {
	var options []chromedp.ExecAllocatorOption
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has none for root
	}
	ctx, leave := chromedp.NewContext(ctx, chromedp.WithAllocatorOptions(options...))
	defer leave()
	open := func(path string) chromedp.Action[chromedp.Void] { return chromedp.Navigate(address + path) }
	// follow does what leads to another page, and waits for that.
	follow := func(a chromedp.Action[chromedp.Void]) error {
		_, err := chromedp.RunResponse(ctx, a)
		return err
	}
	shown := func(name, selector string) error {
		there, err := chromedp.Run(ctx, chromedp.Evaluate[bool](fmt.Sprintf("document.querySelector(%q) !== null", selector)))
		if err != nil {
			return err
		}
		picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err != nil {
			return err
		}
		return look(sight{name, there, picture})
	}

	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height), open("/login"),
		chromedp.SendKeys(chromedp.CSS("input[name=name]"), "Ada")); err != nil {
		return err
	}
	if err := follow(chromedp.Click(chromedp.CSS("main button"))); err != nil {
		return err
	}
	if err := behind(ctx); err != nil {
		return err
	}

	if err := follow(chromedp.Click(chromedp.CSS("li.oolong a"))); err != nil {
		return err
	}
	if err := follow(chromedp.Click(chromedp.ID("add"))); err != nil {
		return err
	}
	if err := shown("cart", "tr[data-product]"); err != nil {
		return err
	}
	// Whoever does not see their cart tries again until they do.
	patience, cancel := context.WithTimeout(ctx, catchUp)
	defer cancel()
	for there := false; !there; {
		var err error
		if there, err = chromedp.Run(patience, chromedp.Evaluate[bool]("document.getElementById('order') !== null")); err != nil {
			return fmt.Errorf("the cart stays empty: %w", err)
		}
		if !there {
			if err := chromedp.Do(patience, chromedp.Reload()); err != nil {
				return fmt.Errorf("the cart stays empty: %w", err)
			}
		}
	}

	if err := follow(chromedp.Click(chromedp.ID("order"))); err != nil {
		return err
	}
	return shown("orders", "tr.new")
}
