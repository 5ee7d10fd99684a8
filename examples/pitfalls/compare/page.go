package main

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
)

// behaviours are those that go wrong with dbresolver: what readers see, what statements
// do, what becomes of servers.
var behaviours = []behaviour{
	ownWrite, otherProcess, staleList, backInTime, preload,
	firstOrCreate, writeHook, hookTransaction, rawWrites, advisoryLock, connection, migrate, schemaChange, rawReads,
	replicaKilled, replicaFrozen, replicaPromoted, recoveryConflict, downAtStart,
}

// fair are those in which dbresolver is as good, or better.
var fair = []behaviour{rawKnown, idle, pausedLoad}

func all() []behaviour { return append(slices.Clone(behaviours), fair...) }

// table has a row for each behaviour that was seen.
func table(of []behaviour, seen map[string]pair) string {
	var b strings.Builder
	b.WriteString("| | dbresolver | readsplit |\n|---|---|---|\n")
	for _, behaviour := range of {
		if p, ok := seen[behaviour.name]; ok {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", behaviour.title, p.dbresolver.says, p.readsplit.says)
		}
	}
	return b.String()
}

// page is what stands between the marks.
func page(version string, seen map[string]pair) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on PostgreSQL %s, %s.\n\n%s\n", version, modules(), table(behaviours, seen))
	for _, behaviour := range behaviours {
		b.WriteString(behaviour.section(seen[behaviour.name]))
	}
	fmt.Fprintf(&b, "## Where dbresolver is as good, or better\n\n%s\n", table(fair, seen))
	for _, behaviour := range fair {
		b.WriteString("#" + behaviour.section(seen[behaviour.name]))
	}
	return b.String()
}

// section is the paragraph of a behaviour.
func (b behaviour) section(p pair) string {
	return fmt.Sprintf("## %s\n\n%s\n\n- dbresolver: **%s**\n- readsplit: **%s**\n\n%s\n\n",
		b.title, b.story, p.dbresolver.says, p.readsplit.says, b.answer())
}

// answer is the end of a section, with the tests.
func (b behaviour) answer() string {
	var held []string
	for _, t := range b.held {
		held = append(held, fmt.Sprintf("[%s](../%s)", t.name, t.file))
	}
	return fmt.Sprintf("%s Held by %s. [The code](../examples/pitfalls/compare/%s.go).", b.ours, strings.Join(held, " and "), b.name)
}

// modules are the versions of what is compared.
func modules() string {
	var all []string
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			switch d.Path {
			case "gorm.io/gorm", "gorm.io/plugin/dbresolver", "github.com/jackc/pgx/v5":
				all = append(all, d.Path+" "+d.Version)
			}
		}
	}
	return strings.Join(all, ", ")
}
