package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/readsplit/readsplit/testenv"
)

// demonstration is what scenes play on.
type demonstration struct {
	cluster *testenv.Cluster
	tab     *tab
	said    func(format string, args ...any)
	keep    func(name string, png []byte) error
}

// scene is something that happens to a server, and what the page must say of it.
type scene struct {
	name string
	run  func(context.Context, *demonstration) error
}

var scenes = []scene{
	{"healthy", healthy},
	{"taken out of service by its button", drained},
	{"paused", paused},
	{"cut off", cutOff},
	{"killed", killed},
	{"promoted", promoted},
}

const victim = "replica2"

// most is what a picture may have: it is read over slow lines at night.
const most = 150 << 10

func (d *demonstration) picture(name, scheme string) error {
	if err := d.tab.scheme(scheme); err != nil {
		return err
	}
	if _, err := evaluate[bool](d.tab, "(document.activeElement.blur(), window.scrollTo(0, 0), true)"); err != nil {
		return err
	}
	png, err := d.tab.picture()
	if err != nil {
		return err
	}
	if len(png) > most {
		return fmt.Errorf("the picture %s has %d bytes, more than %d", name, len(png), most)
	}
	return d.keep(name, png)
}

// wants is nil where all conditions hold.
func wants(s sight, conditions map[string]bool) error {
	var errs []error
	for text, holds := range conditions {
		if !holds {
			errs = append(errs, errors.New(text))
		}
	}
	if len(errs) > 0 {
		errs = append(errs, fmt.Errorf("the page shows %+v", s))
	}
	return errors.Join(errs...)
}

func allUp(s sight) bool {
	for _, c := range s.Cards {
		if c.State != "up" {
			return false
		}
	}
	return len(s.Cards) == 3 && s.Headline == "All servers are up."
}

func healthy(_ context.Context, d *demonstration) error {
	busy := func(s sight) bool {
		return allUp(s) && strings.Contains(s.Detail, "reads a second") && len(s.Cards[victim].Points) >= 40
	}
	s, err := d.tab.until("three servers that are up, and reads", busy)
	if err != nil {
		return err
	}
	if err := wants(s, map[string]bool{
		"the summary is good":         s.Level == "good",
		"nobody needs advice":         s.Cards[victim].Advice == "" && s.Cards["replica1"].Advice == "",
		"the lag is near the bottom":  last(s.Cards[victim].Points) > 0,
		"nothing is shaded":           s.Cards[victim].Shades == 0,
		"the page is live":            s.Age == "live",
		"nothing is beyond the edge":  !s.Wide,
		"the primary has no button":   s.Cards["primary · "+d.cluster.Primary().Addr()].Button == "",
		"a replica can be taken away": s.Cards[victim].Button == "Take out of service",
	}); err != nil {
		return err
	}
	if err := d.accessible(); err != nil {
		return err
	}
	return d.picture("healthy", "light")
}

func last(points []float64) float64 {
	if len(points) == 0 {
		return -1
	}
	return points[len(points)-1]
}

// rises reports whether a plot goes up towards its end; it counts from the top.
func rises(points []float64) bool {
	n := len(points)
	return n > 6 && points[n-1] < points[n-4] && points[n-4] < points[n-7]
}

// drained uses the keyboard alone.
func drained(_ context.Context, d *demonstration) error {
	const focus = `(() => { const b = document.activeElement; return [b.tagName, b.getAttribute('aria-label') ?? '']; })()`
	press := func(label string) error {
		for range 40 {
			if err := chromedp.Do(d.tab.ctx, chromedp.KeyEvent(kb.Tab)); err != nil {
				return err
			}
			at, err := evaluate[[]string](d.tab, focus)
			if err != nil {
				return err
			}
			if at[1] == label {
				return chromedp.Do(d.tab.ctx, chromedp.KeyEvent(kb.Enter))
			}
		}
		return fmt.Errorf("the Tab key does not lead to %q", label)
	}
	if err := press("Take out of service: " + victim); err != nil {
		return err
	}
	s, err := d.tab.until("a replica that is out of service", func(s sight) bool { return s.Cards[victim].State == "drained" })
	if err != nil {
		return err
	}
	at, err := evaluate[[]string](d.tab, focus)
	if err != nil {
		return err
	}
	if err := wants(s, map[string]bool{
		"the focus stays":      at[1] == "Put back into service: "+victim,
		"the summary warns":    s.Level == "warn" && strings.HasPrefix(s.Headline, "replica2 is out of service."),
		"the other one serves": strings.Contains(s.Headline, "replica1 serves reads."),
	}); err != nil {
		return err
	}
	if err := chromedp.Do(d.tab.ctx, chromedp.KeyEvent(kb.Enter)); err != nil {
		return err
	}
	_, err = d.tab.until("it back", allUp)
	return err
}

// trouble plays a fault of one replica until the page shows it, and then its end.
func (d *demonstration) trouble(undo testenv.Undo, err error, what string, shows func(sight) bool, then func(sight) error) error {
	if err != nil {
		return err
	}
	s, err := d.tab.until(what, shows)
	if err == nil {
		err = then(s)
	}
	if err := errors.Join(err, undo()); err != nil {
		return err
	}
	_, err = d.tab.until("all servers up again", allUp)
	return err
}

func seconds(lag string) float64 {
	v := 0.0
	if _, err := fmt.Sscanf(lag, "%f s", &v); err != nil {
		return 0
	}
	return v
}

func paused(ctx context.Context, d *demonstration) error {
	undo, err := d.cluster.Server(victim).PauseReplay(ctx)
	return d.trouble(undo, err, "a paused replica, some seconds old", func(s sight) bool {
		return s.Cards[victim].State == "paused" && seconds(s.Cards[victim].Lag) >= 8
	}, func(s sight) error {
		c := s.Cards[victim]
		if err := wants(s, map[string]bool{
			"the summary warns":       s.Level == "warn" && s.Headline == "replica2 is paused. replica1 serves reads.",
			"its age is said":         strings.Contains(s.Detail, "replica2 shows data that is up to "),
			"it is said what to do":   strings.Contains(c.Advice, "pg_wal_replay_resume()"),
			"the plot goes up":        rises(c.Points),
			"its shape is another":    c.Shape != s.Cards["replica1"].Shape && c.Level == "warn",
			"nothing is beyond edges": !s.Wide,
		}); err != nil {
			return err
		}
		if err := d.accessible(); err != nil {
			return err
		}
		return d.picture("paused", "dark")
	})
}

func cutOff(ctx context.Context, d *demonstration) error {
	undo, err := d.cluster.Server(victim).Cut(ctx)
	return d.trouble(undo, err, "a replica that is cut off", func(s sight) bool {
		return s.Cards[victim].State == "cut off" && seconds(s.Cards[victim].Lag) >= 5
	}, func(s sight) error {
		if err := wants(s, map[string]bool{
			"the summary is bad":    s.Level == "bad" && s.Headline == "replica2 is cut off. replica1 serves reads.",
			"it is said what to do": strings.Contains(s.Cards[victim].Advice, "Look at the network"),
			"the plot goes up":      rises(s.Cards[victim].Points),
		}); err != nil {
			return err
		}
		if err := d.picture("cut-off", "light"); err != nil {
			return err
		}
		return d.phone()
	})
}

// phone looks at the page as a telephone shows it.
func (d *demonstration) phone() error {
	if err := d.tab.size(phoneWidth, phoneHeight); err != nil {
		return err
	}
	s, err := d.tab.look()
	if err == nil {
		err = wants(s, map[string]bool{"nothing is beyond the edge": !s.Wide})
	}
	small, errSmall := evaluate[[]string](d.tab, `[...document.querySelectorAll('button')].filter((b) => b.offsetHeight < 24 || b.offsetWidth < 24).map((b) => b.textContent)`)
	if len(small) > 0 {
		err = errors.Join(err, fmt.Errorf("too small for a finger: %q", small))
	}
	return errors.Join(err, errSmall, d.picture("phone-dark", "dark"), d.tab.size(width, height))
}

func killed(ctx context.Context, d *demonstration) error {
	undo, err := d.cluster.Server(victim).Kill(ctx)
	return d.trouble(undo, err, "a replica that is down", func(s sight) bool {
		return s.Cards[victim].State == "down" && s.Cards[victim].Shades > 0
	}, func(s sight) error {
		if err := wants(s, map[string]bool{
			"the summary is bad":    s.Level == "bad" && s.Headline == "replica2 is down. replica1 serves reads.",
			"nobody claims its lag": s.Cards[victim].Lag == "unknown",
			"it is said what to do": strings.Contains(s.Cards[victim].Advice, "Look at the server and its log"),
		}); err != nil {
			return err
		}
		// A moment of it, so that the picture has it.
		if _, err := d.tab.until("more of the time without it", func(sight) bool { return enough(d, 6) }); err != nil {
			return err
		}
		return d.picture("killed", "dark")
	})
}

// enough reports whether the victim's newest shade is wide enough to be seen.
func enough(d *demonstration, percent float64) bool {
	width, err := evaluate[float64](d.tab, `Math.max(0, ...[...document.querySelectorAll('.server.bad svg rect')].map((r) => Number(r.getAttribute('width'))))`)
	return err == nil && width >= percent
}

// promoted kills the primary and makes replica1 the next one.
func promoted(ctx context.Context, d *demonstration) error {
	heir := d.cluster.Replica(0)
	if _, err := d.cluster.Primary().Kill(ctx); err != nil {
		return err
	}
	s, err := d.tab.until("that the primary is down", func(s sight) bool { return strings.HasPrefix(s.Headline, "The primary is down.") })
	if err != nil {
		return err
	}
	if err := wants(s, map[string]bool{
		"the summary is bad": s.Level == "bad",
		"who goes on":        s.Headline == "The primary is down. Writes fail. Replicas go on serving reads, and nobody knows how old those are.",
	}); err != nil {
		return err
	}
	if _, err := heir.Promote(ctx); err != nil {
		return err
	}
	if _, err := d.cluster.Server(victim).Follow(ctx, heir); err != nil {
		return err
	}
	said := "The host " + d.cluster.Primary().Addr() + " does not answer. " + victim + " serves reads."
	s, err = d.tab.until("the new primary, and a replica of it", func(s sight) bool {
		return s.Cards["primary · "+heir.Name()].State == "up" && s.Cards[heir.Name()].State == "primary" && s.Cards[victim].State == "up" &&
			s.Headline == said && (strings.Contains(s.Detail, "serve 9") || strings.Contains(s.Detail, "serve 100 %"))
	})
	if err != nil {
		return err
	}
	if err := wants(s, map[string]bool{"the old one is missed": s.Level == "warn"}); err != nil {
		return err
	}
	return d.picture("promoted", "light")
}
