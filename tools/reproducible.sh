#!/bin/sh
# reproducible.sh: build the packages of the last commit twice, in two clones of the repository in folders with different names.
# Fail if the built files differ.
set -eu
cd "$(dirname "$0")/.."
commit=$(git rev-parse HEAD)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for folder in a another-folder/below; do
	mkdir -p "$work/$folder"
	git clone --quiet --no-checkout . "$work/$folder"
	git -C "$work/$folder" checkout --quiet "$commit"
	(cd "$work/$folder" && make --no-print-directory build package >"$work/log" 2>&1) || { cat "$work/log"; exit 1; }
	(cd "$work/$folder/bin" && find . -type f | LC_ALL=C sort | xargs sha256sum) >"$work/sums"
	[ ! -e "$work/first" ] || diff "$work/first" "$work/sums" || { echo "make reproducible: the builds of $commit differ"; exit 1; }
	mv "$work/sums" "$work/first"
done
cat "$work/first"
