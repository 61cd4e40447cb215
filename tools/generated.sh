#!/bin/sh
# generated.sh: fail when `go generate` changes the tree. It compares before and after, so that it also
# tells the truth in a tree with changes that are not committed.
set -eu
tree() {
	git diff HEAD
	git ls-files --others --exclude-standard -z | xargs -0 -r sha256sum
}
before=$(tree)
go generate ./...
if [ "$before" != "$(tree)" ]; then
	echo 'generated: these files were stale and are new now; commit them:'
	git status --short
	exit 1
fi
