package simulate

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"
)

// Plot draws the results of a scenario: the 99th percentile of the reads of each half
// second on a logarithmic scale, and beside it what each server has served. It is an
// SVG document for light and dark pages, with a background of its own.
func Plot(sc Scenario, results []*Result) string {
	p := &plot{sc: sc, results: results}
	p.scale()
	fmt.Fprintf(&p.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" font-family="system-ui,sans-serif" font-size="12">`+"\n", width, p.height())
	p.say("<title>%s</title>\n<style>%s</style>\n", html.EscapeString(sc.Name+": "+sc.Says), style)
	p.say(`<rect class="page" width="%d" height="%d"/>`+"\n", width, p.height())
	p.times()
	p.shares()
	p.b.WriteString("</svg>\n")
	return p.b.String()
}

const (
	width              = 840
	left, right        = 64, 520 // of the curves
	top, bottom        = 34, 270
	barsLeft, barsWide = 580, 230
	barStep            = 34
)

// Lines differ in their dashes as well, for those who do not see the colours.
const style = `.page{fill:#fff}text{fill:#1f2328}.grid{stroke:#d1d9e0;stroke-width:1}.faint{fill:#59636e}
path{fill:none;stroke-width:2}.s0{stroke:#0969da}.s1{stroke:#bc4c00;stroke-dasharray:7 3}.s2{stroke:#1a7f37;stroke-dasharray:2 2}.s3{stroke:#8250df}.s4{stroke:#9a6700;stroke-dasharray:9 3 2 3}.s5{stroke:#cf222e;stroke-dasharray:4 4}
.f0{fill:#54aeff}.f1{fill:#fb8f44}.f2{fill:#4ac26b}.f3{fill:#c297ff}.f4{fill:#d4a72c}.f5{fill:#ff8182}.in{fill:#1f2328;font-size:10px}
@media(prefers-color-scheme:dark){.page{fill:#0d1117}text{fill:#f0f6fc}.grid{stroke:#3d444d}.faint{fill:#9198a1}.s0{stroke:#4493f8}.s1{stroke:#f0883e}.s2{stroke:#3fb950}.s3{stroke:#ab7df8}.s4{stroke:#d29922}.s5{stroke:#f85149}.in{fill:#0d1117}}`

type plot struct {
	sc      Scenario
	results []*Result
	b       strings.Builder
	low     float64 // the decades that are shown, as logarithms of milliseconds
	high    float64
}

func (p *plot) say(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

func (p *plot) height() int { return max(bottom+34, top+barStep*len(p.results)+20) }

func (p *plot) windows() (first, end int) {
	return int(warmUp / Window), int(p.sc.Length / Window)
}

func logMS(d time.Duration) float64 {
	return math.Log10(max(float64(d)/float64(time.Millisecond), 0.01))
}

func (p *plot) scale() {
	p.low, p.high = math.Inf(1), math.Inf(-1)
	first, end := p.windows()
	for _, r := range p.results {
		for i := first; i < end; i++ {
			y := logMS(r.P99In(i))
			p.low, p.high = min(p.low, math.Floor(y)), max(p.high, math.Ceil(y))
		}
	}
	p.high = max(p.high, p.low+1)
}

func (p *plot) x(window int) float64 {
	first, end := p.windows()
	return left + float64(window-first)/float64(end-1-first)*(right-left)
}

func (p *plot) y(log float64) float64 { return bottom - (log-p.low)/(p.high-p.low)*(bottom-top) }

// times draws the curves.
func (p *plot) times() {
	p.say(`<text x="%d" y="20">p99 of the reads of each half second</text>`+"\n", left)
	for log := p.low; log <= p.high; log++ {
		y := p.y(log)
		p.say(`<line class="grid" x1="%d" x2="%d" y1="%.0f" y2="%.0f"/><text class="faint" x="%d" y="%.0f" text-anchor="end">%s</text>`+"\n",
			left, right, y, y, left-6, y+4, tick(log))
	}
	first, end := p.windows()
	perSecond := int(time.Second / Window)
	for i := first; i < end; i += 4 * perSecond {
		p.say(`<text class="faint" x="%.0f" y="%d" text-anchor="middle">%d s</text>`+"\n", p.x(i), bottom+18, i/perSecond)
	}
	for n, r := range p.results {
		p.say(`<path class="s%d" d="`, n)
		for i := first; i < end; i++ {
			command := "L"
			if i == first {
				command = "M"
			}
			p.say("%s%.1f %.1f", command, p.x(i), p.y(logMS(r.P99In(i))))
		}
		p.say(`"/>` + "\n")
	}
}

func tick(log float64) string {
	ms := math.Pow(10, log)
	if ms >= 1000 {
		return fmt.Sprintf("%.0f s", ms/1000)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

// shares draws a bar for each balancer, which is the legend of the curves too.
func (p *plot) shares() {
	p.say(`<text x="%d" y="20">who served</text>`+"\n", barsLeft)
	for n, r := range p.results {
		y := top + barStep*n
		p.say(`<path class="s%d" d="M%d %dh30"/><text x="%d" y="%d">%s</text>`+"\n",
			n, barsLeft-36, y+7, barsLeft, y+11, html.EscapeString(p.sc.Balancers[n].Name))
		p.say(`<text class="faint" x="%d" y="%d" text-anchor="end">p99 %s</text>`+"\n",
			barsLeft+barsWide, y+11, short(r.P99))
		x := float64(barsLeft)
		for i, share := range r.Share {
			wide := share * barsWide
			if wide < 0.5 {
				continue
			}
			p.say(`<rect class="f%d" x="%.1f" y="%d" width="%.1f" height="12"/>`, i, x, y+15, wide)
			if wide > 24 {
				p.say(`<text class="in" x="%.1f" y="%d">%s %.0f</text>`, x+2, y+25, p.server(i), 100*share)
			}
			x += wide
		}
		p.b.WriteByte('\n')
	}
}

func (p *plot) server(i int) string {
	if i < len(p.sc.Servers) {
		return p.sc.Servers[i].Name
	}
	return "primary"
}
