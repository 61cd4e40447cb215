#!/bin/sh
# generated.sh: fail if `go generate` changes a file. The script compares the files from before and after `go generate`, so the
# script also works if the Git worktree contains uncommitted changes.
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
