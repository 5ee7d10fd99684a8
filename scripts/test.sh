#!/bin/sh
# Runs the tests of packages with the race detector, on real servers:
# scripts/test.sh MAJOR PACKAGE...
#
# -short makes internal/compare run each of its programs in one mode instead of three,
# internal/matrix its cells in half of the setups, tests of the root package that have
# four modes run in two, and some that repeat what they do repeat it less: SHORT= make
# test is the whole of it, and make compare-plain and make matrix of theirs.
#
# go vet comes first, with the flags of the tests: what it compiles for the packages that
# a package imports is then there for the tests, and nothing is compiled both with the
# race detector and without. Nobody debugs the binaries, and a compiler that collects its
# garbage less often is quicker: without symbols and with GOGC=400 it takes a third less.
#
# Then it is `go test` of each, three at a time, which keeps two processors busy and no
# server waiting long for one, and the output of each comes when it is done. `go test -p` would do, but for the
# root package: its tests take as long as all the others together, and so it is compiled
# once and run in five parts, the last of which is what is in no other.
set -u

cd "$(dirname "$0")/.." || exit 1
export READSPLIT_PG="$1"
shift

# Those that break servers; and the others by their first letter, about as many seconds.
breaks='^Test(Failover|Fault|R03|R06|R15|NameOf|Topology|R17|Statement|Short|KnownWrite|WriteFromBefore|Drain|Add)'

out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM
# Also for what tests compile themselves.
export GOFLAGS="${GOFLAGS:-} -race -gcflags=all=-dwarf=false -ldflags=-s"
GOGC=400 go vet "$@" || exit 1
GOGC=400 go vet -tags realsqlserver ./testenv/tdsenv/drivertest/given || exit 1 # what only runs on servers that are given

root=$(go list -m -f '{{if eq .Dir "'"$PWD"'"}}{{.Path}}{{end}}' | tr -d '\n')
GOGC=400 go test -vet=off -c -o "$out/root" . || exit 1
{
	echo "-test.run $breaks"
	for letters in A-C D-Q R-S; do
		echo "-test.run ^Test[$letters] -test.skip $breaks"
	done
	echo "-test.skip $breaks|^Test[A-S]"
	# The longest first, so that none of them is left for the end.
	go list "$@" | grep -v "^$root\$" | awk '{ print (/internal\/(compare|conformance|matrix|corpus)$|testenv$|monitor$/ ? 0 : 1), $0 }' | sort -s -n | cut -d' ' -f2
} >"$out/jobs"

# A part ends with a line like those of go test.
# shellcheck disable=SC2016 # the inner shell expands them
root=$root xargs -P 3 -L 1 sh -c '
	file=$(mktemp "$0/XXXXXX")
	began=$(date +%s)
	case $1 in
	-test.*) "$0/root" ${SHORT--test.short} -test.timeout 20m -test.shuffle on -test.paniconexit0 "$@" ;;
	*) GOGC=400 go test -exec "env -u GOGC" ${SHORT--short} -timeout 20m -shuffle=on -count=1 -vet=off "$@" ;;
	esac >"$file" 2>&1
	status=$?
	cat "$file"
	case $1 in
	-test.*) echo "$([ $status = 0 ] && echo "ok  " || echo FAIL)	$root	$(($(date +%s) - began))s	$*" ;;
	esac
	exit $status
' "$out" <"$out/jobs"
