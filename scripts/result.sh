#!/bin/sh
# Prints the output of go test -v and, last of all, its line that begins with the
# name: result.sh NAME < output. Fails when the tests did, or without that line.
set -u
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
grep -Ev '^(=== |--- PASS|    --- PASS|PASS$)' | tee "$log" | grep -Ev "$1: "
line=$(grep -Eo "$1: .*" "$log" | tail -n 1)
[ -n "$line" ] && echo "$line"
[ -n "$line" ] && grep -q '^ok' "$log" && ! grep -Eq '^(FAIL|--- FAIL|panic:)' "$log"
