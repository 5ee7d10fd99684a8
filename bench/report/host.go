package report

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// Host is where it was measured, in a sentence.
func Host(postgres string) string {
	return fmt.Sprintf("Measured on %d cores of %s (%s/%s%s), %s, PostgreSQL %s (no fsync, data in memory: a commit is as cheap as it gets), %s. Load of the machine before it began: %s.",
		runtime.NumCPU(), processor(), runtime.GOOS, runtime.GOARCH, memory(), strings.TrimPrefix(runtime.Version(), "go version "), postgres, modules(), loadAverage())
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // not on every system
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "a processor without a name"
}

func memory() string {
	text, _ := os.ReadFile("/proc/meminfo")
	var kB float64
	if _, err := fmt.Sscanf(string(text), "MemTotal: %g", &kB); err != nil {
		return ""
	}
	return fmt.Sprintf(", %.0f GB of memory", kB/1e6)
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(text)); err == nil && len(f) > 2 {
		return strings.Join(f[:3], ", ")
	}
	return "unknown"
}

// modules are the versions of what takes part.
func modules() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "modules unknown"
	}
	var all []string
	for _, d := range info.Deps {
		switch d.Path {
		case "gorm.io/gorm", "gorm.io/driver/postgres", "gorm.io/plugin/dbresolver", "github.com/jackc/pgx/v5":
			all = append(all, d.Path+" "+d.Version)
		}
	}
	return strings.Join(all, ", ")
}
