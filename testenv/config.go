package testenv

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Config says which cluster [New] starts. The zero value is right: one primary and two replicas
// of the newest PostgreSQL on this machine.
type Config struct {
	// Replicas is the number of streaming replicas; -1 starts a primary alone. Defaults to 2.
	Replicas int

	// BinDir is the folder that holds initdb and postgres; nothing else is searched when it is
	// set. Defaults to the search that the package comment describes.
	BinDir string

	// Version is the wanted major version, such as "15" or "18". Defaults to $READSPLIT_PG, and
	// to the newest version that is found when that is empty too.
	Version string

	// Dir is the folder in which the cluster makes, and at its end removes, a folder of its own.
	// The user who runs the servers must be able to reach it. Defaults to $READSPLIT_PG_DIR;
	// where that is empty, on Linux, to /dev/shm if that lies in memory and 4 GiB are free; else
	// to os.TempDir().
	Dir string

	// Settings are lines of postgresql.conf for all servers. A setting that testenv owns (port,
	// cluster_name, listen_addresses, primary_conninfo, recovery_min_apply_delay and the like) is
	// an error. Defaults to none.
	Settings map[string]string

	// LogWriter receives every line of every server's log behind the server's name; it must take
	// calls from several goroutines. Defaults to none: the logs are files ([Server.LogFile]).
	LogWriter io.Writer

	choosePort func() (int, error)          // of a server's first start; freePort, but for a test
	memoryDir  func(executable bool) string // memoryDir, but for a test
}

// Option changes one thing of the cluster that [Start] starts.
type Option func(*Config)

// Replicas sets the number of streaming replicas; 0 starts a primary alone.
func Replicas(n int) Option {
	return func(c *Config) {
		c.Replicas = n
		if n == 0 {
			c.Replicas = -1
		}
	}
}

// Setting adds a line of postgresql.conf for all servers, as Setting("work_mem", "8MB").
func Setting(name, value string) Option {
	return func(c *Config) {
		settings := maps.Clone(c.Settings)
		if settings == nil {
			settings = map[string]string{}
		}
		settings[name] = value
		c.Settings = settings
	}
}

// Version asks for a major version, such as "15" or "18", whatever $READSPLIT_PG says.
func Version(major string) Option { return func(c *Config) { c.Version = major } }

// BinDir names the folder that holds initdb and postgres.
func BinDir(dir string) Option { return func(c *Config) { c.BinDir = dir } }

// Dir names the folder in which the cluster makes its own.
func Dir(dir string) Option { return func(c *Config) { c.Dir = dir } }

// LogTo sends every line of every server's log to w, behind the server's name.
func LogTo(w io.Writer) Option { return func(c *Config) { c.LogWriter = w } }

const (
	defaultReplicas = 2
	envDir          = "READSPLIT_PG_DIR"
	// Every replica costs a wal sender and 40 MB; a hundred is a typing error, not a test.
	maxReplicas = 20
)

var settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$`)

// owned are the settings without which a fault or an undo would do something else than it says.
var owned = []string{
	"cluster_name", "data_directory", "config_file", "hba_file", "external_pid_file", "port",
	"listen_addresses", "hot_standby", "primary_conninfo", "primary_slot_name", "ssl",
	"recovery_min_apply_delay", "restart_after_crash", "lc_messages", "logging_collector",
	"log_destination",
}

// complete fills in the defaults and reports every problem at once.
func (c Config) complete() (Config, error) {
	var problems []string
	problem := func(format string, a ...any) { problems = append(problems, fmt.Sprintf(format, a...)) }

	if c.Replicas == 0 {
		c.Replicas = defaultReplicas
	}
	if c.Replicas < -1 || c.Replicas > maxReplicas {
		problem("Config.Replicas is %d: it must be 1 to %d, -1 for none, or 0 for the default of %d", c.Replicas, maxReplicas, defaultReplicas)
	}
	c.Replicas = max(c.Replicas, 0)

	source := "Config.Version"
	if c.Version == "" && c.BinDir == "" {
		c.Version, source = os.Getenv("READSPLIT_PG"), "$READSPLIT_PG"
	}
	if c.Version != "" {
		major, err := strconv.Atoi(c.Version)
		switch {
		case err != nil || major <= 0:
			problem("%s is %q: it must be a major version such as 15 or 18", source, c.Version)
		case major < minMajor:
			problem("%s is %q: testenv needs PostgreSQL %d or newer", source, c.Version, minMajor)
		}
	}
	if c.choosePort == nil {
		c.choosePort = freePort
	}
	if c.memoryDir == nil {
		c.memoryDir = memoryDir
	}
	for _, name := range slices.Sorted(maps.Keys(c.Settings)) {
		switch lower := strings.ToLower(name); {
		case !settingName.MatchString(name):
			problem("Config.Settings has %q: a name of a setting has letters, digits, _ and at most one dot", name)
		case slices.Contains(owned, lower):
			problem("Config.Settings has %s: testenv sets it itself; remove it", name)
		case strings.ContainsAny(c.Settings[name], "\n\r\x00"):
			problem("Config.Settings[%q] has a line break or a zero byte: a value of postgresql.conf is one line", name)
		}
	}
	if problems != nil {
		return c, errors.New(strings.Join(problems, "; "))
	}
	return c, nil
}
