package readonlyguard

import (
	"strings"

	"github.com/readsplit/readsplit/sqlclass"
)

// Options is the guard's configuration, for whoever builds on [Register]. The zero Options panics on a write and
// allows no function beyond those that are known to read.
type Options struct {
	// ReturnErrors puts the [*Error] into gorm's DB.Error instead of panicking with it. Defaults to false: a write
	// in a read session is a mistake in the program, and an error can be dropped.
	ReturnErrors bool

	// AllowFunctions names SQL functions that only read, as they are written in the statements, with their schema
	// where the statements have one; case does not matter. Defaults to none.
	AllowFunctions []string

	// Judge may turn what [sqlclass.Classify] says of a text into a Read, for instance by what the database says of
	// its functions; whatever else it says does not count. It must be safe for concurrent use. Defaults to none.
	Judge func(sql string, info sqlclass.Info) sqlclass.Info
}

// Option changes one of the [Options] of [New].
type Option func(*Options)

// ReturnErrors makes the guard return its error as gorm's DB.Error instead of panicking with it.
func ReturnErrors() Option {
	return func(o *Options) { o.ReturnErrors = true }
}

// AllowFunctions tells the guard that these SQL functions only read. Without it a statement that calls a function of
// the application's own is refused: its text does not show what the function does.
func AllowFunctions(names ...string) Option {
	return func(o *Options) { o.AllowFunctions = append(o.AllowFunctions, names...) }
}

// allowed is the set of functions that Options.AllowFunctions names.
func (o Options) allowed() map[string]struct{} {
	set := make(map[string]struct{}, len(o.AllowFunctions))
	for _, name := range o.AllowFunctions {
		set[strings.ToLower(name)] = struct{}{}
	}
	return set
}
