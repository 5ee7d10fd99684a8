package readsplit

import (
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
)

// driverOfSQLServer is the module of the driver below gorm.io/driver/sqlserver, which
// asks for an older one: with that, the opening of a connection ignores its context, and
// a server that is frozen keeps callers that have given up.
const (
	driverOfSQLServer = "github.com/microsoft/go-mssqldb"
	driverMinor       = 11 // of 1
)

// oldDriver says what is wrong with the driver that a program was built with; empty:
// nothing, or it is not known.
func oldDriver(info *debug.BuildInfo) string {
	for _, m := range info.Deps {
		if m.Path != driverOfSQLServer {
			continue
		}
		if m.Replace != nil {
			return "" // somebody's own
		}
		numbers := strings.SplitN(strings.TrimPrefix(m.Version, "v"), ".", 3)
		if len(numbers) != 3 {
			return ""
		}
		major, err := strconv.Atoi(numbers[0])
		minor, err2 := strconv.Atoi(numbers[1])
		if err != nil || err2 != nil || major > 1 || major == 1 && minor >= driverMinor {
			return ""
		}
		return fmt.Sprintf("readsplit: this program has %s %s, which ignores contexts while it opens a connection: run go get %s@v1.%d.0 or newer", m.Path, m.Version, m.Path, driverMinor)
	}
	return ""
}

// checkDriver warns of a driver that is too old, once for each plugin.
func (rt *router) checkDriver() {
	if info, ok := debug.ReadBuildInfo(); ok && rt.name == "" {
		if what := oldDriver(info); what != "" {
			rt.plugin.warn("%s", what)
		}
	}
}
