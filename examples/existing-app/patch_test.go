package existingapp

import (
	"fmt"
	"strconv"
	"strings"
)

// patch is what a unified diff does to one file.
type patch struct {
	hunks []hunk
	added int
}

// hunk stands at a line of the old file, from 1.
type hunk struct {
	at       int
	old, new []string
}

// parse reads a unified diff of files in two directories, by the files' names.
func parse(text string) (map[string]*patch, error) {
	patches := map[string]*patch{}
	var p *patch
	for _, line := range strings.SplitAfter(text, "\n") {
		switch {
		case strings.HasPrefix(line, "+++ "):
			p = &patch{}
			name := strings.TrimSpace(line[strings.LastIndexByte(line, '/')+1:])
			patches[name] = p
		case line == "", strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "):
		case p == nil:
			return nil, fmt.Errorf("%q comes before the name of a file", line)
		case strings.HasPrefix(line, "@@ -"):
			number, _, _ := strings.Cut(strings.Fields(line[4:])[0], ",")
			at, err := strconv.Atoi(number)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			p.hunks = append(p.hunks, hunk{at: at})
		case len(p.hunks) == 0:
			return nil, fmt.Errorf("%q is in no hunk", line)
		default:
			h := &p.hunks[len(p.hunks)-1]
			if line[0] != '+' {
				h.old = append(h.old, line[1:])
			}
			if line[0] != '-' {
				h.new = append(h.new, line[1:])
			}
			if line[0] == '+' && strings.TrimSpace(line[1:]) != "" {
				p.added++
			}
		}
	}
	return patches, nil
}

// apply changes a file, and is an error where the file is not the one that the patch is for.
func (p *patch) apply(text string) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	var out []string
	next := 0
	for _, h := range p.hunks {
		if h.at-1 < next || h.at-1+len(h.old) > len(lines) {
			return "", fmt.Errorf("line %d is not there", h.at)
		}
		out = append(out, lines[next:h.at-1]...)
		next = h.at - 1
		for _, want := range h.old {
			if lines[next] != want {
				return "", fmt.Errorf("line %d is %q, the diff is of %q", next+1, lines[next], want)
			}
			next++
		}
		out = append(out, h.new...)
	}
	return strings.Join(append(out, lines[next:]...), ""), nil
}
