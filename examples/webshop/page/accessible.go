package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// accessible looks at the page as somebody does who has no mouse, or does not see well,
// or not at all.
func (d *demonstration) accessible() error {
	var errs []error
	for _, scheme := range []string{"light", "dark"} {
		if err := d.tab.scheme(scheme); err != nil {
			return err
		}
		faint, err := evaluate[[]string](d.tab, contrasts)
		if err != nil {
			return err
		}
		if len(faint) > 0 {
			errs = append(errs, fmt.Errorf("%s: too faint: %s", scheme, strings.Join(faint, "; ")))
		}
	}
	return errors.Join(append(errs, d.tab.keyboard(), d.tab.readAloud())...)
}

// keyboard presses Tab until the focus comes round: every control must have had it, and
// have shown it.
func (t *tab) keyboard() error {
	const controls = `[...document.querySelectorAll('a[href], button, [tabindex="0"]')].filter((e) => e.checkVisibility()).map(name)`
	const name = `const name = (e) => (e.tagName + ' ' + (e.getAttribute('aria-label') ?? e.getAttribute('aria-labelledby') ?? e.textContent)).trim();`
	in := func(expression string) string { return "(() => { " + name + " return " + expression + "; })()" }
	want, err := evaluate[[]string](t, in(controls))
	if err != nil {
		return err
	}
	if len(want) < 7 {
		return fmt.Errorf("only %d controls: %q", len(want), want)
	}
	if _, err := evaluate[bool](t, `(() => { document.activeElement.blur(); window.getSelection().removeAllRanges(); return true; })()`); err != nil {
		return err
	}
	type stop struct {
		Name    string
		Visible bool
	}
	var got []string
	var errs []error
	for range 2 * len(want) {
		if err := chromedp.Do(t.ctx, chromedp.KeyEvent(kb.Tab)); err != nil {
			return err
		}
		at, err := evaluate[stop](t, in(`((e, s) => ({
  Name: name(e), Visible: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2 && e.getBoundingClientRect().bottom > 0 && e.getBoundingClientRect().top < innerHeight,
}))(document.activeElement, getComputedStyle(document.activeElement))`))
		if err != nil {
			return err
		}
		if strings.HasPrefix(at.Name, "BODY") || slices.Contains(got, at.Name) {
			continue
		}
		got = append(got, at.Name)
		if !at.Visible {
			errs = append(errs, fmt.Errorf("the focus on %q cannot be seen", at.Name))
		}
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			errs = append(errs, fmt.Errorf("the Tab key does not reach %q", w))
		}
	}
	return errors.Join(errs...)
}

// named are roles that say nothing without a name.
var named = []string{"button", "link", "image", "img", "table", "region", "list"}

// readAloud looks at what the browser hands to a screen reader.
func (t *tab) readAloud() error {
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name struct{ Value json.RawMessage }
		}
	}
	var raw json.RawMessage
	if err := t.call("Accessibility.getFullAXTree", nil, &raw); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &tree); err != nil {
		return err
	}
	text := func(raw json.RawMessage) (s string) {
		_ = json.Unmarshal(raw, &s) // else it is no text
		return s
	}
	count := map[string]int{}
	var errs []error
	names := map[string][]string{}
	for _, n := range tree.Nodes {
		role, name := text(n.Role.Value), text(n.Name.Value)
		if n.Ignored {
			continue
		}
		count[role]++
		names[role] = append(names[role], name)
		if slices.Contains(named, role) && role != "list" && name == "" {
			errs = append(errs, fmt.Errorf("a %s has no name", role))
		}
	}
	for role, n := range map[string]int{"banner": 1, "main": 1, "contentinfo": 1, "status": 1, "alert": 1, "image": 3, "list": 1} {
		if got := count[role] + count[map[string]string{"image": "img"}[role]]; got < n || n == 1 && role != "list" && got > 1 {
			errs = append(errs, fmt.Errorf("%d of the role %s, and not %d", got, role, n))
		}
	}
	for _, b := range []string{"Take out of service: replica1", "Take out of service: replica2", "Send every read to the primary", "Hold"} {
		if !slices.Contains(names["button"], b) {
			errs = append(errs, fmt.Errorf("no button is called %q, but %q", b, names["button"]))
		}
	}
	for _, r := range []string{"Summary", "Servers", "Why reads ran on replicas", "State changes", "Recent decisions"} {
		if !slices.Contains(names["region"], r) {
			errs = append(errs, fmt.Errorf("no region is called %q, but %q", r, names["region"]))
		}
	}
	return errors.Join(errs...)
}

// contrasts lists what has less contrast than WCAG 2.2 asks for: 4.5 for text, 3 for
// large text, for shapes that say something, and for the edges of buttons.
const contrasts = `(() => {
  const parts = (c) => { const m = c.match(/[\d.]+/g).map(Number); return c.startsWith('color(') ? m.map((v, i) => i < 3 ? v * 255 : v) : m; };
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ratio = (a, b) => { const [x, y] = [light(a.slice(0, 3)), light(b.slice(0, 3))].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = parts(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const faint = new Set();
  const check = (e, what, color, under, least) => {
    const r = ratio(parts(color), under);
    if (r < least) faint.add(what + ' ' + r.toFixed(2) + ' of ' + least + ' (' + (e.className || e.tagName) + ')');
  };
  let checked = 0;
  for (const e of document.querySelectorAll('body *')) {
    if (!e.checkVisibility() || ['NOSCRIPT', 'SCRIPT'].includes(e.tagName)) continue;
    const s = getComputedStyle(e);
    if ([...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) {
      const size = parseFloat(s.fontSize), large = size >= 24 || size >= 18.66 && s.fontWeight >= 700;
      check(e, JSON.stringify(e.textContent.trim().slice(0, 20)), s.color, ground(e), large ? 3 : 4.5);
      checked++;
    }
    if (e.classList.contains('shape')) check(e, 'shape', s.backgroundColor, ground(e.parentElement), 3);
    if (e.tagName === 'BUTTON') check(e, 'edge', s.borderTopColor, ground(e.parentElement), 3);
    if (e.matches('svg .line')) check(e, 'line', s.stroke, ground(e.closest('li')), 3);
  }
  if (checked < 40) faint.add('only ' + checked + ' texts were checked');
  return [...faint];
})()`
