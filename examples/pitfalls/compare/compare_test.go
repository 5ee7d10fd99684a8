package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

// TestCompare runs all of it, with less of what only takes long.
func TestCompare(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cluster, err := stage.NewCluster(ctx, "")
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Close(context.Background())) }()
	for _, b := range all() {
		t.Run(b.name, func(t *testing.T) {
			p, err := b.run(ctx, cluster, size{orders: 200, reads: 60, pause: 3 * time.Second, idle: 500 * time.Millisecond})
			require.NoError(t, err)
			t.Log(b.line(p))
			require.Equal(t, "ok", p.verdict(), "%+v", p)
		})
	}
}

// TestPages: the pages tell of each behaviour what the program does, and name tests that
// are there.
func TestPages(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		require.NoError(t, err)
		return string(text)
	}
	page, readme := read("docs/compared.md"), read("README.md")
	has := func(text, part, where string) {
		//nolint:testifylint // the page is too long to print
		assert.True(t, strings.Contains(text, part), "%s lacks %q; run: make compare", where, part)
	}
	for _, b := range all() {
		has(page, "# "+b.title+"\n\n"+b.story+"\n\n- dbresolver: **", "docs/compared.md")
		has(page, b.answer(), "docs/compared.md")
		require.FileExists(t, b.name+".go")
		require.NotEmpty(t, b.held)
		for _, test := range b.held {
			has(read(test.file), "func "+test.name+"(", test.file)
		}
	}
	for _, b := range behaviours {
		_, row, ok := strings.Cut(page, "\n| "+b.title+" |")
		require.True(t, ok, "docs/compared.md has no row for %s", b.name)
		row, _, _ = strings.Cut(row, "\n")
		has(readme, "\n| "+b.title+" |"+row+"\n", "README.md")
	}
}

// TestVerdicts: what does not hold is not ok, whoever's it is.
func TestVerdicts(t *testing.T) {
	good, bad := tally{of: 2}, tally{n: 1, of: 2, first: io.ErrUnexpectedEOF}
	for _, tt := range []struct {
		p    pair
		want string
	}{
		{pair{bad.cell("fail", bad.some()), good.cell("fail", good.none())}, "ok"},
		{pair{bad.cell("fail", bad.all()), good.cell("fail", good.none())}, "NOT OK: the page says otherwise of dbresolver"},
		{pair{bad.cell("fail", bad.some()), bad.cell("fail", bad.none())}, "NOT OK: readsplit did not do what it promises"},
		{pair{tally{}.cell("fail", tally{}.all()), tally{}.cell("fail", tally{}.none())}, "NOT OK: the page says otherwise of dbresolver, readsplit did not do what it promises"},
	} {
		require.Equal(t, tt.want, tt.p.verdict())
	}
	require.Equal(t, "1 of 2 fail: `unexpected EOF`", bad.cell("fail", true).says)
	require.Equal(t, []string{"7", "1,007", "1,234,567"}, []string{number(7), number(1007), number(1234567)})
}

func TestOnlyOneOfThem(t *testing.T) {
	require.ErrorContains(t, run(context.Background(), options{only: "no_such"}, io.Discard), "no_such is none of them")
}
