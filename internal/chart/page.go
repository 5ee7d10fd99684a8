package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Write puts text between the marks of name in a page, and a chart, unless nil, into a
// directory beside the page that has its name. What stands around the marks stays.
func Write(page, name, text string, c *Chart) error {
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	if c != nil {
		dir := strings.TrimSuffix(page, filepath.Ext(page))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name+".svg"), []byte(c.SVG()), 0o644); err != nil {
			return err
		}
		text = fmt.Sprintf("![%s](%s/%s.svg)\n\n%s", c.Title, filepath.Base(dir), name, text)
	}
	changed, err := Insert(string(content), name, text)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(changed), 0o644)
}

// Insert replaces what stands between the marks of name in a page.
func Insert(page, name, text string) (string, error) {
	begin, end := fmt.Sprintf("<!-- measured: %s -->", name), fmt.Sprintf("<!-- end: %s -->", name)
	head, rest, ok := strings.Cut(page, begin)
	if !ok {
		return "", fmt.Errorf("there is no %s", begin)
	}
	_, tail, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("there is no %s after %s", end, begin)
	}
	return head + begin + "\n" + strings.TrimSpace(text) + "\n" + end + tail, nil
}
