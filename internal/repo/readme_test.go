package repo

import (
	"encoding/json"
	"fmt"
	"io/fs"
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

// TestGuaranteesNameTests: each test that docs/guarantees.md names exists.
func TestGuaranteesNameTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "guarantees.md"))
	require.NoError(t, err)
	var tests strings.Builder
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
		tests.Write(text)
		return err
	}))
	names := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, names)
	for _, n := range names {
		//nolint:testifylint // the haystack is too long to print
		require.True(t, strings.Contains(tests.String(), "func "+n[1]+"("), "docs/guarantees.md names %s, which does not exist", n[1])
	}
}

// TestLinksLeadSomewhere: what the pages link to is there.
func TestLinksLeadSomewhere(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	require.NoError(t, err)
	more, err := filepath.Glob(filepath.Join("..", "..", "docs", "decisions", "*.md"))
	require.NoError(t, err)
	pages = append(append(pages, more...), filepath.Join("..", "..", "README.md"))
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, l := range link.FindAllStringSubmatch(string(text), -1) {
			require.FileExists(t, page)
			_, err := os.Stat(filepath.Join(filepath.Dir(page), l[1]))
			require.NoError(t, err, "%s links to %s", page, l[1])
		}
	}
}
