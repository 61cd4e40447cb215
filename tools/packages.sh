#!/bin/sh
# packages.sh raced|unraced|environment|tests DIR: print the packages whose tests run with the race detector, without it, or
# once more with another environment. What the sources say decides, so that no list grows stale, and in doubt a package is
# raced.
#   raced        code or tests start a goroutine, use a channel or import what does
#   unraced      the others; and those with a file that is for tests without the race detector only (go:build !race)
#   environment  whoever hands on the process's whole environment (os.LookupEnv itself, not a call of it), for no other
#                package can see a variable of the program's: what one looks up by its name are variables of the tests
#   tests DIR    of one package, the names of the tests in files for tests without the race detector only, with | between
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C
concurrent='^[[:space:]]*(defer )?go [[:alpha:]_]|\.Go\(|<-|[^[:alpha:]]chan[[:space:]]|AfterFunc|"(sync|sync/atomic|testing/synctest|os/exec|net/http|net/http/httptest)"|/errgroup"'

# folders PATTERN: print the folders with a Go file that has the pattern.
folders() { find . -name "*.go" -not -path "*/testdata/*" -exec grep -slE -e "$1" {} + | xargs -n1 dirname | sort -u; }

raced=$(folders "$concurrent")
case ${1:-} in
raced) echo "$raced" ;;
unraced)
	{
		folders '^//go:build !race$'
		folders '^package ' | grep -vxF -e "$raced"
	} | sort -u
	;;
tests) grep -l '^//go:build !race$' "$2"/*_test.go | xargs sed -n 's/^func \(Test[[:alnum:]_]*\)(.*/\1/p' | paste -sd'|' ;;
environment) folders 'os\.LookupEnv([^(]|$)' ;;
*)
	echo 'usage: packages.sh raced|unraced|environment|tests DIR' >&2
	exit 2
	;;
esac
