package readsplit

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOldDriver(t *testing.T) {
	for version, old := range map[string]bool{
		"v1.8.2": true, "v1.10.99": true, "v0.12.3": true, "v1.9.0-0.20250101000000-abcdefabcdef": true,
		"v1.11.0": false, "v1.11.0-rc1": false, "v1.12.3": false, "v2.0.0": false, "(devel)": false, "": false, "v1": false, "vX.1.1": false,
	} {
		what := oldDriver(&debug.BuildInfo{Deps: []*debug.Module{{Path: "gorm.io/gorm", Version: "v1.0.0"}, {Path: driverOfSQLServer, Version: version}}})
		assert.Equal(t, old, what != "", "%q: %s", version, what)
		if old {
			assert.Contains(t, what, "go get github.com/microsoft/go-mssqldb@v1.11.0")
		}
	}
	assert.Empty(t, oldDriver(&debug.BuildInfo{}))
	assert.Empty(t, oldDriver(&debug.BuildInfo{Deps: []*debug.Module{{Path: driverOfSQLServer, Version: "v1.8.0", Replace: &debug.Module{Path: "example.com/own"}}}}))
}
