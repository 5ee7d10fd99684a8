package repo

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// No compiled program lies among the sources: go build leaves one in the folder where it is
// called, git add takes it along, and each clone is larger by it for ever.
func TestNoProgramsAmongTheSources(t *testing.T) {
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch rel, _ := filepath.Rel(root, path); rel {
			case ".git", "bin", "node_modules":
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() {
			assert.False(t, isProgram(t, path), "%s is a program: remove it, and build into bin", path)
		}
		return nil
	}))
	self, err := os.Executable()
	require.NoError(t, err)
	assert.True(t, isProgram(t, self))
}

// isProgram knows programs of Linux (ELF) and macOS (Mach-O) by their first bytes.
func isProgram(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	first := make([]byte, 4)
	_, err = io.ReadFull(f, first)
	return err == nil && (string(first) == "\x7fELF" || bytes.Equal(first, []byte{0xcf, 0xfa, 0xed, 0xfe}))
}
