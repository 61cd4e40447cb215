#!/bin/sh
# package.sh VERSION LDFLAGS: build the binary for $GOARCH, and pack it into bin/package/telex_VERSION_ARCH.deb and .rpm. The
# script needs Go. The version of a package must begin with a digit, so a VERSION that is not a tag becomes 0.0.0+VERSION.
# If the same commit is packed twice, with the same version of Go, the packages are identical. All times in a package are the
# time of the commit.
# https://reproducible-builds.org/docs/source-date-epoch/
set -eu
cd "$(dirname "$0")/.."
version=$1
case $version in
v[0-9]*) version=${version#v} ;;
*) version=0.0.0+$(echo "$version" | tr -c 'A-Za-z0-9.\n' .) ;;
esac
TELEX_VERSION=$version TELEX_ARCH=$(go env GOARCH)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export TELEX_VERSION TELEX_ARCH SOURCE_DATE_EPOCH
umask 022
rm -rf bin/package
mkdir -p bin/package/completions
CGO_ENABLED=0 go build -trimpath -ldflags "$2" -o bin/package/telex ./cmd/telex
# The script also runs Go programs. Build these programs for this machine, even if the package is for another architecture.
for shell in bash zsh fish; do
	GOARCH='' GOOS='' CGO_ENABLED=0 go run ./cmd/telex completion "$shell" >"bin/package/completions/$shell"
done
for format in deb rpm; do
	GOARCH='' GOOS='' go tool -modfile=tools/go.mod nfpm package --config deploy/package/nfpm.yaml --packager "$format" --target bin/package/
done
