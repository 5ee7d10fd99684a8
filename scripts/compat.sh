#!/bin/sh
# Runs a short set of tests of the root module (the traps of GORM, the rules of the promise,
# the matrix of ways into the database, the examples) with other versions of PostgreSQL, Go,
# GORM and its driver than a checkout has: scripts/compat.sh [COMBINATION, ...]
#
# A combination is any of pg=MAJOR, go=VERSION and gorm=oldest|latest|VERSION, with blanks
# between; what it leaves out is PostgreSQL 15, the Go release that is the default below, and
# oldest. Without any it is the list. oldest is what go.mod asks for, which nobody can go
# below; latest are the newest releases of GORM, of its driver and of pgx. The versions go
# into a copy of go.mod, and nothing in the checkout changes.
#
# It goes on after a failure, prints a line for each combination, and fails if one of them
# failed or could not be run: what was not run is not known to work.
set -u

cd "$(dirname "$0")/.." || exit 1

# The two newest Go releases, the newest patch of each, and what go.mod asks for.
newest=1.27.4
default=1.26.11
oldest=$(sed -n 's/^go \([0-9.]*\).*/\1/p' go.mod)

list="pg=15, pg=16, pg=17, pg=18,
pg=15 go=$newest, pg=18 go=$newest gorm=latest,
pg=15 go=$oldest, pg=18 go=$oldest"

tests='^Test[TR][0-9]|^TestFieldsOfDatabaseSQL|^TestMatrix|^Example'
modules='gorm.io/gorm gorm.io/driver/postgres github.com/jackc/pgx/v5 gorm.io/plugin/dbresolver'

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
failed=

# line STATE: what a combination came to.
line() { echo "compat: pg=$pg go=$go gorm=$shown $1"; }

not_run() {
	line "NOT RUN: $1"
	failed=yes
}

# resolved MODULE: its version in the copy of go.mod, without the v.
resolved() { go list -modfile="$work/go.mod" -m -f '{{.Version}}' "$1" | sed 's/^v//'; }

# latest MODULE: its newest release.
latest() { GOWORK=off GOFLAGS= GOTOOLCHAIN="$own" go list -m -f '{{.Version}}' "$1@latest"; }

run() {
	shown=$gorm
	if ! GOTOOLCHAIN=go$go GOWORK=off go version >"$work/log" 2>&1; then
		not_run "Go $go could not be had: $(tail -n 1 "$work/log")"
		return
	fi
	if ! scripts/deps.sh "$pg" >"$work/log" 2>&1; then
		not_run "$(grep '^deps:' "$work/log" | tail -n 1)"
		return
	fi
	pg=$(sed -n 's/^deps: postgresql *\([0-9][0-9.]*\) .*/\1/p' "$work/log")

	cp go.mod "$work/go.mod" && cat go.sum go.work.sum >"$work/go.sum" || exit 1
	for m in $modules; do
		case $gorm in
		oldest) continue ;;
		latest) v=$(latest "$m") ;;
		*)
			[ "$m" = gorm.io/gorm ] || continue
			v=v${gorm#v}
			;;
		esac
		if [ -z "$v" ] || ! go mod edit -require="$m@$v" "$work/go.mod"; then
			not_run "$m $gorm could not be had"
			return
		fi
	done

	began=$(date +%s)
	(
		export GOWORK=off GOFLAGS=-mod=mod GOTOOLCHAIN="go$go" READSPLIT_PG="${pg%%.*}"
		# What the copy has come to may be more than was asked for, and is what is said.
		{
			resolved gorm.io/gorm
			resolved gorm.io/driver/postgres
			resolved github.com/jackc/pgx/v5
		} 2>"$work/log" | tr '\n' ' ' >"$work/versions"
		go test -modfile="$work/go.mod" -short -vet=off -count=1 -shuffle=on -timeout 20m -run "$tests" . ./internal/matrix
	) >>"$work/log" 2>&1
	status=$?
	read -r has driver pgx <"$work/versions" || true
	shown="$has postgres=$driver pgx=$pgx"
	if [ $status = 0 ] && ! grep -q 'no tests to run' "$work/log"; then
		line "ok $(($(date +%s) - began))s"
		return
	fi
	kept=bin/compat-pg${pg%%.*}-go$go.log
	mkdir -p bin && cp "$work/log" "$kept"
	line "FAILED: $kept"
	failed=yes
	grep -E '^ *--- FAIL|^panic:|^FAIL' "$work/log" | head -n 40 | sed 's/^/    /'
	sed 's/^/    /' "$work/log" | tail -n 20
}

own=$(go env GOVERSION)
wanted=${*:-$list} # joined by blanks
IFS=,
set -f
# shellcheck disable=SC2086 # it is split at commas
set -- $wanted
IFS=' 	
'
for combination; do
	pg=15 go=$default gorm=oldest
	for word in $combination; do
		case $word in
		pg=*) pg=${word#pg=} ;;
		go=*) go=${word#go=} ;;
		gorm=*) gorm=${word#gorm=} ;;
		*)
			echo "compat: $word is none of pg=MAJOR, go=VERSION, gorm=oldest|latest|VERSION" >&2
			exit 2
			;;
		esac
	done
	run
done
[ -z "$failed" ]
