#!/bin/sh
# packages.sh raced|unraced|environment|tests DIR...|switched DIR: print the packages or tests that a target of the Makefile runs.
# The script searches the sources for these packages and tests, so nobody has to maintain lists of them.
#   raced        the packages whose tests run with the race detector. Their code or tests start a goroutine, use a channel, or
#                import a package with goroutines. The search may also find packages that need no race detector.
#   unraced      the packages whose tests run without the race detector: the packages that are not in raced, and packages with a
#                file that is built only without the detector (go:build !race)
#   environment  the packages whose tests run a second time with other environment variables. Their code passes os.LookupEnv on
#                as a function, so it may read any variable. Other packages read only variables that their own tests need. The
#                search ignores files with a build tag, because make test does not build them.
#   tests DIR    names of tests in the packages DIR, joined by |. These tests run only without the race detector, or they are in a
#                file that makes tests shorter with the detector (the file uses the constant raced).
#   switched DIR names of tests in the package DIR, joined by |. telex streams the answers in these tests, unless the environment
#                variable switches streaming off. They are the tests with the demo, and the tests that set streaming.enabled in the
#                configuration. A test with a streaming setting for one endpoint does not belong to them, because this setting
#                overrides the environment variable. In all other tests, telex streams no answer, because streaming is off by
#                default.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C
concurrent='^[[:space:]]*(defer )?go [[:alpha:]_]|\.Go\(|<-|[^[:alpha:]]chan[[:space:]]|AfterFunc|"(sync|sync/atomic|testing/synctest|os/exec|net/http|net/http/httptest)"|/errgroup"'

# folders PATTERN: print the folders that contain a Go file in which PATTERN matches.
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
	# Print a test if its code contains one of these strings. If code outside of tests contains one, print all tests in the file.
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
