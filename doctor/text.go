package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// width is how wide a terminal is that nobody has widened.
const width = 80

// WriteText writes a report for people, at most 80 columns wide where no word is
// longer: the servers, the findings with the worst first, and a summary as the last
// line. What was found of several servers in the same words is said once.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	r.writeServers(&b)
	fine := false
	for _, g := range grouped(r.Findings) {
		if b.Len() > 0 && (g.Severity != OK || !fine) {
			b.WriteString("\n")
		}
		if g.Severity == OK {
			fine = true
			b.WriteString(wrap("ok  ", g.about()+g.What))
			continue
		}
		fmt.Fprintf(&b, "%s %s", strings.ToUpper(g.Severity.String()), g.ID)
		if len(g.servers) > 0 {
			b.WriteString(": " + strings.Join(g.servers, ", "))
		}
		b.WriteString("\n")
		b.WriteString(wrap("  ", g.What))
		if g.Why != "" {
			b.WriteString(wrap("  Why: ", g.Why))
		}
		if g.Remedy != "" {
			b.WriteString(wrap("  Do:  ", g.Remedy))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", r.Summary())
	_, err := io.WriteString(w, strings.Map(printable, b.String()))
	return err
}

// printable keeps what a server or an application says of itself from steering the
// terminal.
func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\n' {
		return utf8.RuneError
	}
	return r
}

// Summary is one line: how many findings of each severity, and the exit status.
func (r Report) Summary() string {
	n := r.count()
	answered := 0
	for _, s := range r.Servers {
		if s.Answered {
			answered++
		}
	}
	text := fmt.Sprintf("%s, %s, %s", plural(n[Problem], "problem", "problems"), plural(n[Warning], "warning", "warnings"), plural(n[Notice], "notice", "notices"))
	if len(r.Servers) > 0 {
		text += fmt.Sprintf("; %d of %s answered", answered, plural(len(r.Servers), "server", "servers"))
	}
	return fmt.Sprintf("%s, %.1f s; exit status %d", text, r.Took.Seconds(), r.ExitStatus())
}

func (r Report) writeServers(b *strings.Builder) {
	names := 0
	for _, s := range r.Servers {
		names = max(names, utf8.RuneCountInString(s.Name))
	}
	for _, s := range r.Servers {
		is := s.Is
		switch {
		case !s.Answered:
			is = "no answer"
		case is == "":
			is = "not asked"
		}
		line := fmt.Sprintf("%-*s  %-9s", names, s.Name, is)
		if s.Address != "" {
			line += "  " + s.Address
		}
		if s.Version != "" {
			line += "  " + s.Product + " " + version(s.Version)
		}
		if s.Server != "" {
			line += "  " + s.Server
		}
		if s.Timeline > 0 {
			line += fmt.Sprintf("  timeline %d", s.Timeline)
		}
		if s.Behind == nil && s.Lag != nil {
			line += "  " + span(time.Duration(*s.Lag*float64(time.Second))) + " old at most"
		}
		if s.Behind != nil {
			line += "  " + size(*s.Behind) + " behind"
			if s.Lag != nil && *s.Behind > 0 {
				line += ", " + span(time.Duration(*s.Lag*float64(time.Second)))
			}
		}
		b.WriteString(line + "\n")
	}
}

// version leaves out what a distribution adds.
func version(text string) string {
	v, _, _ := strings.Cut(text, " ")
	return v
}

// group is one finding of several servers.
type group struct {
	Finding
	servers []string
}

func (g group) about() string {
	if len(g.servers) == 0 {
		return ""
	}
	return strings.Join(g.servers, ", ") + ": "
}

func grouped(findings []Finding) []*group {
	var all []*group
	for _, f := range findings {
		i := slices.IndexFunc(all, func(g *group) bool {
			return g.ID == f.ID && g.Severity == f.Severity && g.What == f.What && g.Remedy == f.Remedy
		})
		if i < 0 {
			i = len(all)
			all = append(all, &group{Finding: f})
		}
		if f.Server != "" {
			all[i].servers = append(all[i].servers, f.Server)
		}
	}
	return all
}

// wrap breaks a text into lines: the first begins with lead, the others with as many
// blanks.
func wrap(lead, text string) string {
	var b strings.Builder
	indent := strings.Repeat(" ", utf8.RuneCountInString(lead))
	b.WriteString(lead)
	column, first := len(indent), true
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case first:
		case column+1+n > width:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column, first = column+n, false
	}
	b.WriteString("\n")
	return b.String()
}
