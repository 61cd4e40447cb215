#!/bin/sh
# fuzz.sh: run every fuzz target of the module for $FUZZTIME (10s) each. Go fuzzes one target at a time.
set -eu
list=$(go test -list '^Fuzz' ./...)
# `go test -list` names the targets of a package first and then the package, in an "ok" line.
echo "$list" | awk '/^Fuzz/ {names[n++] = $1} /^ok/ {for (i = 0; i < n; i++) print $2, names[i]; n = 0}' |
	while read -r package name; do
		echo "fuzz: $package $name"
		go test -run='^$' -fuzz="^$name\$" -fuzztime="${FUZZTIME:-10s}" "$package"
	done
