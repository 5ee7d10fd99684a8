#!/bin/sh
# Runs the tests of packages with the race detector, on real servers:
# scripts/test.sh MAJOR PACKAGE...
#
# -short makes internal/compare run each of its programs in one mode instead of three,
# internal/matrix its cells in half of the setups, and tests of the root package that
# have four modes run in two, and nothing else: SHORT= make test is the whole of it, and
# make compare-plain and make matrix of theirs.
#
# It is `go test` of each, three at a time, and the output of each comes when it is
# done. make vet has come before, and nobody debugs the binaries: go vet again and
# DWARF take a minute of two cores. `go test -p` would do, but for the root package:
# its tests take as long as all the others together, most of it waiting for servers,
# and so run as two halves.
set -u

cd "$(dirname "$0")/.." || exit 1
export READSPLIT_PG="$1"
shift

# The half that breaks servers.
half='^Test(Failover|Fault|R03|R06|R15|NameOf|Topology|R17|Statement|Short|KnownWrite|WriteFromBefore|Drain|Add)'

out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM
go build -race "$@" || exit 1 # what they have in common, once

root=$(go list -m -f '{{if eq .Dir "'"$PWD"'"}}{{.Path}}{{end}}' | tr -d '\n')
{
	echo "$root -run $half"
	echo "$root -skip $half"
	# The longest first, so that none of them is left for the end.
	go list "$@" | grep -v "^$root\$" | awk '{ print (/internal\/(compare|matrix|corpus)$|testenv$|monitor$/ ? 0 : 1), $0 }' | sort -s -n | cut -d' ' -f2
} >"$out/jobs"

# shellcheck disable=SC2016 # the inner shell expands them
xargs -P 3 -L 1 sh -c '
	file=$(mktemp "$0/XXXXXX")
	go test ${SHORT--short} -timeout 20m -race -shuffle=on -count=1 -vet=off -ldflags=-w "$@" >"$file" 2>&1
	status=$?
	cat "$file"
	exit $status
' "$out" <"$out/jobs"
