#!/bin/sh
# Runs the tests of packages with the race detector, on real servers:
# scripts/test.sh MAJOR PACKAGE...
#
# -short makes internal/compare run each of its programs in one mode instead of three,
# internal/matrix its cells in half of the setups, tests of the root package that have
# four modes run in two, and some that repeat what they do repeat it less: SHORT= make
# test is the whole of it, and make compare-plain and make matrix of theirs.
#
# It is `go test` of each, three at a time, and the output of each comes when it is
# done. make vet has come before, and nobody debugs the binaries: go vet again and
# DWARF take a minute of two cores. `go test -p` would do, but for the root package:
# its tests take as long as all the others together, most of it waiting for servers,
# and so it is compiled once and run in three parts, the third of which is what is in
# no other.
set -u

cd "$(dirname "$0")/.." || exit 1
export READSPLIT_PG="$1"
shift

# Those that break servers; and, of the others, about half.
breaks='^Test(Failover|Fault|R03|R06|R15|NameOf|Topology|R17|Statement|Short|KnownWrite|WriteFromBefore|Drain|Add)'
half='^Test[A-Q]'

out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM
go build -race "$@" || exit 1 # what they have in common, once

root=$(go list -m -f '{{if eq .Dir "'"$PWD"'"}}{{.Path}}{{end}}' | tr -d '\n')
go test -race -vet=off -ldflags=-w -c -o "$out/root" . || exit 1
{
	echo "-test.run $half -test.skip $breaks"
	echo "-test.skip $breaks|$half"
	echo "-test.run $breaks"
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
	*) go test ${SHORT--short} -timeout 20m -race -shuffle=on -count=1 -vet=off -ldflags=-w "$@" ;;
	esac >"$file" 2>&1
	status=$?
	cat "$file"
	case $1 in
	-test.*) echo "$([ $status = 0 ] && echo "ok  " || echo FAIL)	$root	$(($(date +%s) - began))s	$*" ;;
	esac
	exit $status
' "$out" <"$out/jobs"
