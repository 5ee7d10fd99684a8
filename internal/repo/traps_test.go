package repo

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// traps is how many traps of GORM are known; each is a test that has its number.
const traps = 34

func TestEveryTrapHasItsTest(t *testing.T) {
	root := filepath.Join("..", "..")
	tests := regexp.MustCompile(`(?m)^func (?:Test|Fuzz).*?\(`)
	trap := regexp.MustCompile(`T(\d\d)[A-Z_(]`)
	tested := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") {
			text, err := os.ReadFile(path)
			for _, name := range tests.FindAllString(string(text), -1) {
				for _, found := range trap.FindAllStringSubmatch(name, -1) {
					tested[found[1]] = true
				}
			}
			return err
		}
		return nil
	}))
	for n := 1; n <= traps; n++ {
		require.True(t, tested[fmt.Sprintf("%02d", n)], "trap %d has no test", n)
	}
}
