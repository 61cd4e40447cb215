#!/bin/sh
# package.sh VERSION: make bin/package/telex_VERSION_ARCH.deb and .rpm of the binary that `go build` makes for $GOARCH.
# A package's version begins with a digit, so one without a tag becomes 0.0.0+VERSION. Needed: Go.
set -eu
cd "$(dirname "$0")/.."
version=$1
case $version in
v[0-9]*) version=${version#v} ;;
*) version=0.0.0+$(echo "$version" | tr -c 'A-Za-z0-9.\n' .) ;;
esac
TELEX_VERSION=$version TELEX_ARCH=$(go env GOARCH)
export TELEX_VERSION TELEX_ARCH
mkdir -p bin/package
rm -f bin/package/*.deb bin/package/*.rpm
CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$1" -o bin/package/telex ./cmd/telex
# The tool runs on this machine, whatever the package is for.
for format in deb rpm; do
	GOARCH='' GOOS='' go tool -modfile=tools/go.mod nfpm package --config deploy/package/nfpm.yaml --packager "$format" --target bin/package/
done
