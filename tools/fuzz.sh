#!/bin/sh
# fuzz.sh: run every fuzz target of the module for the time $FUZZTIME (default: 10s). The script runs one target after the
# other, because `go test` can fuzz only one target at a time.
set -eu
list=$(go test -list '^Fuzz' ./...)
# `go test -list` prints the targets of a package, and then a line that begins with "ok" and names the package.
echo "$list" | awk '/^Fuzz/ {names[n++] = $1} /^ok/ {for (i = 0; i < n; i++) print $2, names[i]; n = 0}' |
	while read -r package name; do
		echo "fuzz: $package $name"
		go test -run='^$' -fuzz="^$name\$" -fuzztime="${FUZZTIME:-10s}" "$package"
	done
