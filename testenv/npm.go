package testenv

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// makeLinks makes the symbolic links of an @embedded-postgres package, whose folder native is
// given. A registry package cannot carry links; the package's install script makes them, but npm
// is often told not to run scripts, and then the loader finds no libraries.
func makeLinks(native string) error {
	listed, err := os.ReadFile(filepath.Join(native, "pg-symlinks.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read its list of symbolic links: %w", err)
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(listed, &links); err != nil {
		return fmt.Errorf("read its list of symbolic links: %w", err)
	}
	root := filepath.Dir(native) // the list's paths start at the package
	for _, l := range links {
		if !filepath.IsLocal(l.Source) || !filepath.IsLocal(l.Target) {
			return fmt.Errorf("its list of symbolic links leaves the package: %s", l.Target)
		}
		target := filepath.Join(root, l.Target)
		if _, err := os.Lstat(target); err == nil {
			continue
		}
		source, err := filepath.Rel(filepath.Dir(target), filepath.Join(root, l.Source))
		if err != nil {
			return fmt.Errorf("make its symbolic links: %w", err)
		}
		// Another test process may make the same link at the same moment.
		if err := os.Symlink(source, target); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("make its symbolic links: %w", err)
		}
	}
	return nil
}
