// Package chart draws measured numbers as SVG and puts them, with their tables, between
// marks of a page.
package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Line is one row of numbers, at the places of Chart.X.
type Line struct {
	Name string
	Y    []float64 // NaN: not measured
}

// Chart is lines over a common axis, both scales logarithmic.
type Chart struct {
	Title  string
	XName  string
	YName  string
	X      []float64
	Labels []string // of X; nil: the numbers
	Lines  []Line
	Linear bool // the scale of Y
	Bound  float64
	Says   string // of Bound
}

const (
	width, height            = 760, 330
	left, right, top, bottom = 70, 520, 34, 280
)

// Lines differ in their dashes as well, for those who do not see the colours.
const style = `.page{fill:#fff}text{fill:#1f2328}.grid{stroke:#d1d9e0;stroke-width:1}.faint{fill:#59636e}.bound{stroke:#59636e;stroke-dasharray:1 3;stroke-width:2}
path{fill:none;stroke-width:2}.s0{stroke:#0969da}.s1{stroke:#bc4c00;stroke-dasharray:7 3}.s2{stroke:#1a7f37;stroke-dasharray:2 2}.s3{stroke:#8250df}.s4{stroke:#9a6700;stroke-dasharray:9 3 2 3}.s5{stroke:#cf222e;stroke-dasharray:4 4}
@media(prefers-color-scheme:dark){.page{fill:#0d1117}text{fill:#f0f6fc}.grid{stroke:#3d444d}.faint{fill:#9198a1}.bound{stroke:#9198a1}.s0{stroke:#4493f8}.s1{stroke:#f0883e}.s2{stroke:#3fb950}.s3{stroke:#ab7df8}.s4{stroke:#d29922}.s5{stroke:#f85149}}`

// SVG draws c for light and dark pages, with a background of its own.
func (c *Chart) SVG() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" font-family="system-ui,sans-serif" font-size="12">`, width, height)
	say("<title>%s</title>\n<style>%s</style>", html.EscapeString(c.Title), style)
	say(`<rect class="page" width="%d" height="%d"/>`, width, height)
	say(`<text x="%d" y="20">%s</text>`, left, html.EscapeString(c.YName))
	say(`<text class="faint" x="%d" y="%d" text-anchor="end">%s</text>`, right, bottom+38, html.EscapeString(c.XName))
	low, high, step := c.scale()
	y := func(v float64) float64 { return bottom - (c.y(v)-low)/(high-low)*(bottom-top) }
	for at := low; at <= high+step/1000; at += step {
		v := at
		if !c.Linear {
			v = math.Pow(10, at)
		}
		say(`<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="faint" x="%d" y="%.1f" text-anchor="end">%s</text>`,
			left, right, y(v), y(v), left-6, y(v)+4, number(v))
	}
	for i := range c.X {
		label := number(c.X[i])
		if c.Labels != nil {
			label = c.Labels[i]
		}
		say(`<text class="faint" x="%.1f" y="%d" text-anchor="middle">%s</text>`, c.x(i), bottom+18, html.EscapeString(label))
	}
	if c.Bound > 0 {
		say(`<line class="bound" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="faint" x="%d" y="%.1f">%s</text>`,
			left, right, y(c.Bound), y(c.Bound), right+8, y(c.Bound)+4, html.EscapeString(c.Says))
	}
	for n, l := range c.Lines {
		path, command := "", "M"
		for i, v := range l.Y {
			if math.IsNaN(v) || !c.Linear && v <= 0 {
				continue
			}
			path += fmt.Sprintf("%s%.1f %.1f", command, c.x(i), y(v))
			command = "L"
		}
		at := top + 12 + 20*n
		say(`<path class="s%d" d="%s"/><path class="s%d" d="M%d %dh24"/><text x="%d" y="%d">%s</text>`, n%6, path, n%6, right+50, at-4, right+80, at, html.EscapeString(l.Name))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (c *Chart) x(i int) float64 {
	if len(c.X) < 2 {
		return left
	}
	return left + float64(i)/float64(len(c.X)-1)*(right-left)
}

func (c *Chart) y(v float64) float64 {
	if c.Linear {
		return v
	}
	return math.Log10(v)
}

// scale is from where to where the axis goes, and the step of its lines.
func (c *Chart) scale() (low, high, step float64) {
	least, most := math.Inf(1), math.Inf(-1)
	see := func(v float64) {
		if !math.IsNaN(v) && (c.Linear || v > 0) {
			least, most = min(least, c.y(v)), max(most, c.y(v))
		}
	}
	for _, l := range c.Lines {
		for _, v := range l.Y {
			see(v)
		}
	}
	if c.Bound > 0 {
		see(c.Bound)
	}
	if !c.Linear {
		low, high = math.Floor(least), math.Ceil(most)
		return low, max(high, low+1), 1
	}
	step = math.Pow(10, math.Floor(math.Log10(max(most, 1e-9))))
	if most/step < 3 {
		step /= 2
	}
	return 0, math.Ceil(most/step) * step, step
}

func number(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%.4g", v)
}
