package repo

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pages are all that people read, with slashes, from the root of the repository.
func pages(t *testing.T) (all []string) {
	t.Helper()
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "bin" || d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".md"):
			rel, err := filepath.Rel(root, path)
			all = append(all, filepath.ToSlash(rel))
			return err
		}
		return nil
	}))
	require.Contains(t, all, "README.md")
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
	require.NoError(t, err)
	return string(text)
}

var (
	codeBlock = regexp.MustCompile("(?sm)^```.*?^```$")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	makes     = regexp.MustCompile("(?m)(?:`|^)make ([a-z][a-z-]*)((?: [A-Z]+=)?)")
	tests     = regexp.MustCompile("`((?:Test|Fuzz|Benchmark|Example)[A-Za-z0-9_]+)`")
	flagged   = regexp.MustCompile("`[^`\n]*go test [^`\n]*-(run|bench) '?([A-Z][a-z][A-Za-z0-9]+)[^`\n]*`")
)

// TestLinksLeadSomewhere: what a page links to in this repository is there, and so is
// the heading behind a #.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		for _, l := range link.FindAllStringSubmatch(codeBlock.ReplaceAllString(read(t, page), ""), -1) {
			if strings.Contains(l[1], "://") || strings.HasPrefix(l[1], "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(l[1], "#")
			target := page
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(page), file))
			}
			_, err := os.Stat(filepath.Join("..", "..", target))
			if !assert.NoError(t, err, "%s links to %s", page, l[1]) || anchor == "" || !strings.HasSuffix(target, ".md") {
				continue
			}
			assert.True(t, slices.Contains(anchors(read(t, target)), anchor), "%s links to %s, which has no such heading", page, l[1])
		}
	}
}

// anchors are the names under which the headings of a page can be linked to.
func anchors(page string) (all []string) {
	page = codeBlock.ReplaceAllString(page, "")
	for _, h := range heading.FindAllStringSubmatch(page, -1) {
		text := link.ReplaceAllString(h[1], "]")
		var b strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(text)) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
				b.WriteRune(r)
			}
		}
		all = append(all, b.String())
	}
	return all
}

// TestTargetsExist: each `make x` of a page is a target of the Makefile, and each
// variable that it sets is one that the Makefile knows.
func TestTargetsExist(t *testing.T) {
	makefile := read(t, "Makefile")
	targets := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^([a-z][a-z/ -]*):`).FindAllStringSubmatch(makefile, -1) {
		for _, name := range strings.Fields(line[1]) {
			targets[name] = true
		}
	}
	require.True(t, targets["test"])
	for _, page := range pages(t) {
		for _, m := range makes.FindAllStringSubmatch(read(t, page), -1) {
			assert.True(t, targets[m[1]], "%s says make %s, which the Makefile does not have", page, m[1])
			if name := strings.Trim(m[2], " ="); name != "" {
				assert.Contains(t, makefile, "\n"+name+" ", "%s says make %s %s=", page, m[1], name)
			}
		}
	}
}

// TestNamedTestsExist: each test that a page names exists, and each that it runs.
func TestNamedTestsExist(t *testing.T) {
	var code strings.Builder
	require.NoError(t, filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "bin" || d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		code.Write(text)
		return err
	}))
	named := 0
	for _, page := range pages(t) {
		text := read(t, page)
		for _, n := range tests.FindAllStringSubmatch(text, -1) {
			named++
			//nolint:testifylint // the haystack is too long to print
			assert.True(t, strings.Contains(code.String(), "func "+n[1]+"("), "%s names %s, which does not exist", page, n[1])
		}
		for _, f := range flagged.FindAllStringSubmatch(text, -1) {
			prefix := map[string]string{"run": "func ", "bench": "func Benchmark"}[f[1]]
			assert.True(t, regexp.MustCompile(prefix+`\w*`+f[2]).MatchString(code.String()), "%s runs -%s %s, which finds nothing", page, f[1], f[2])
		}
	}
	require.NotZero(t, named)
}

// TestIndexHasEveryPage: docs/README.md leads to each page beside it.
func TestIndexHasEveryPage(t *testing.T) {
	index := read(t, "docs/README.md")
	for _, page := range pages(t) {
		if name, ok := strings.CutPrefix(page, "docs/"); ok && name != "README.md" && !strings.Contains(name, "/") {
			assert.Contains(t, index, "]("+name+")", "docs/README.md does not lead to it")
		}
	}
}
