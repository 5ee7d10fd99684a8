package repo

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeCompiles builds the programs of the README as they stand there.
func TestReadmeCompiles(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.Len(t, blocks, 2)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	dir := t.TempDir()
	// An overlay puts the program into the module without a file in the tree.
	replace := map[string]string{}
	for i, block := range blocks {
		text := block[1]
		if !strings.HasPrefix(text, "package ") {
			text = "package main\n\nimport (\n\"net/http\"\n\n\"" + module + "/session/httpsession\"\n)\n\n" + text
		}
		name := fmt.Sprintf("block%d.go", i)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		replace[filepath.Join(root, "internal", "readme", name)] = filepath.Join(dir, name)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))
	cmd := exec.Command("go", "build", "-overlay", file, "-o", filepath.Join(dir, "program"), "./internal/readme")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
