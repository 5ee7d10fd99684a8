// Package mutants are mistakes that somebody could make in readsplit. None of them
// is in the code that is shipped: each is a replacement of text, which is laid over
// the source files when a program is built for it. A checker that does not convict
// every one of them proves little when it finds nothing.
package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Mutant is one mistake.
type Mutant struct {
	Name string
	// Mistake is what somebody got wrong.
	Mistake string
	Edits   []Edit
	// Args are the arguments of verify: faults and ways that bring it to light.
	Args string
}

// Edit replaces a text that is in a file exactly once.
type Edit struct {
	File     string // below the folder of the root module
	Old, New string
}

// Overlay writes the changed files to dir, and the file for go build's -overlay,
// whose path it returns. It fails where a text is not found exactly once: a mutant
// that changes nothing, or something else, would be convicted or acquitted for
// nothing.
func (m *Mutant) Overlay(root, dir string) (path string, err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return "", err
	}
	changed := map[string]string{}
	for _, e := range m.Edits {
		text, ok := changed[e.File]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.File)))
			if err != nil {
				return "", fmt.Errorf("verify: mutant %s: %w", m.Name, err)
			}
			text = string(b)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return "", fmt.Errorf("verify: mutant %s: %s has this text %d times, and must have it once: change the mutant as the code was changed: %q", m.Name, e.File, n, e.Old)
		}
		changed[e.File] = strings.Replace(text, e.Old, e.New, 1)
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for file, text := range changed {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
		overlay.Replace[filepath.Join(root, filepath.FromSlash(file))] = to
	}
	b, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, b, 0o600)
}
