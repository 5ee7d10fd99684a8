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
	var tests strings.Builder
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") {
			text, err := os.ReadFile(path)
			tests.Write(text)
			return err
		}
		return nil
	}))
	for n := 1; n <= traps; n++ {
		name := regexp.MustCompile(fmt.Sprintf(`(?m)^func (Test|Fuzz)\w*T%02d[A-Z_(]`, n))
		require.True(t, name.MatchString(tests.String()), "trap %d has no test", n)
	}
}
