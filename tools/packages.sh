#!/bin/sh
# packages.sh raced|unraced|environment|tests DIR...|switched DIR: print the packages or tests that a target of the Makefile runs.
# The script searches the sources for these packages and tests, so nobody has to maintain lists of them.
#   raced        the packages whose tests run with the race detector. Their code or tests start a goroutine, use a channel, or
#                import a package with goroutines. The search prefers to find a package too many.
#   unraced      the packages whose tests run without the race detector: the packages that are not in raced, and packages with a
#                file that is built only without the detector (go:build !race)
#   environment  the packages whose tests run a second time with other environment variables. Their code passes os.LookupEnv on
#                as a function, so it may read any variable. Code in other packages reads only variables for its own tests. The
#                search ignores files with a build tag, because make test does not build them.
#   tests DIR    the names of the tests in the packages DIR, joined by |, that run only without the race detector, or whose file
#                makes tests shorter with the detector (the file uses the constant raced)
#   switched DIR the names of the tests in the package DIR, joined by |, whose answers are streamed, except if the environment
#                forbids it. These are tests with the demo, and tests with streaming.enabled in the configuration. A test in
#                which the endpoint has a setting of its own is not among them, because this setting takes precedence over the
#                environment. In all other tests, no answer is streamed, because streaming is off by default.
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
	# Print a test if its own code contains one of these strings, or if code outside of tests in the same file does.
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
