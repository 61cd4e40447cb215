#!/bin/sh
# packages.sh raced|unraced|environment|tests DIR...|switched DIR: print the packages or tests that a target of the Makefile runs.
# The script reads the sources to decide, so there is no list that could become outdated.
#   raced        the packages whose tests run with the race detector. Their code or tests start a goroutine, use a channel, or
#                import a package that does. In doubt, a package is one of these.
#   unraced      the packages whose tests run without the race detector: all others, and those with a file that is only for tests
#                without the detector (go:build !race)
#   environment  the packages whose tests run again with another environment. They pass on the whole environment of the process:
#                they use the function os.LookupEnv without calling it. Other packages look up only variables that are for their
#                tests. Files with a build tag don't count, because make test does not build them.
#   tests DIR    the names of the tests in these packages, joined by |, that are only for runs without the race detector, or that
#                are in a file that does less with the detector (it uses the constant raced)
#   switched DIR the names of the tests in this package, joined by |, in which something streams unless the environment forbids it.
#                These are tests with the demo, and tests with streaming.enabled in the configuration. A test in which the endpoint
#                has its own setting is not one of them, because that setting takes precedence over the environment. In all other
#                tests, nothing streams, because streaming is off by default.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C
concurrent='^[[:space:]]*(defer )?go [[:alpha:]_]|\.Go\(|<-|[^[:alpha:]]chan[[:space:]]|AfterFunc|"(sync|sync/atomic|testing/synctest|os/exec|net/http|net/http/httptest)"|/errgroup"'

# folders PATTERN: print the folders that have a Go file in which PATTERN matches.
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
tests)
	shift
	for dir; do grep -slE '^//go:build !race$|if raced|!raced' "$dir"/*_test.go || true; done |
		xargs sed -nE 's/^func ((Test|Fuzz|Example)[[:alnum:]_]*)\(.*/\1/p' | grep -vx TestMain | sort -u | paste -sd'|'
	;;
environment)
	find . -name "*.go" -not -path "*/testdata/*" -exec grep -sLE '^//go:build ' {} + | xargs grep -lE 'os\.LookupEnv([^(]|$)' |
		xargs -n1 dirname | sort -u
	;;
switched)
	# A test counts if its own code has one of these strings, or if code outside of tests in the same file has one.
	awk '
		FNR == 1 { f = "" }
		/^\/\/go:build / { nextfile }
		/^(func|const|var) / { f = $2; sub(/\(.*/, "", f) }
		/^func Test/ { name[FILENAME, f] = f }
		/"demo"|"--demo"|app\.DemoOptions|streaming: "?\{enabled: true[^{]*\}/ { if (f ~ /^Test/) found[f] = 1; else all[FILENAME] = 1 }
		END {
			for (k in name) { split(k, at, SUBSEP); if (at[1] in all || at[2] in found) print at[2] }
		}' "$2"/*_test.go | grep -vx TestMain | sort -u | paste -sd'|'
	;;
*)
	echo 'usage: packages.sh raced|unraced|environment|tests DIR...|switched DIR' >&2
	exit 2
	;;
esac
