package shop_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheShopKnowsNothingOfReplicas: what the lab compares is worth something only
// because the service code is the same for every router, and for none.
func TestTheShopKnowsNothingOfReplicas(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var seen []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if strings.Contains(path, ".") {
				seen = append(seen, path)
			}
		}
	}
	assert.Equal(t, []string{"gorm.io/gorm"}, seen, "the only import besides the standard library")
}
