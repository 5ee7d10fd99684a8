package chart_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/internal/chart"
)

func TestWrite(t *testing.T) {
	page := filepath.Join(t.TempDir(), "scale.md")
	require.NoError(t, os.WriteFile(page, []byte("before\n<!-- measured: a -->\nold\n<!-- end: a -->\nafter\n"), 0o600))
	c := &chart.Chart{Title: "x < y", X: []float64{1, 1000}, Lines: []chart.Line{{Name: "a & b", Y: []float64{80, 4000}}, {Name: "none", Y: []float64{math.NaN(), 3}}}, Bound: 5000, Says: "at most"}
	require.NoError(t, chart.Write(page, "a", "| new |\n", c))
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, "before\n<!-- measured: a -->\n![x < y](scale/a.svg)\n\n| new |\n<!-- end: a -->\nafter\n", string(got))
	require.NoError(t, chart.Write(page, "a", "| new |\n", c), "again")
	assert.Error(t, chart.Write(page, "b", "", nil))

	svg, err := os.ReadFile(filepath.Join(filepath.Dir(page), "scale", "a.svg"))
	require.NoError(t, err)
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
	}
	assert.NotContains(t, string(svg), "NaN")
	assert.NotContains(t, string(svg), "Inf")
}
