#!/bin/sh
# packages.sh raced|unraced|environment|tests DIR...|switched DIR: print the packages whose tests run with the race detector,
# without it, or once more with another environment, or the names of such tests. What the sources say decides, so that no list
# grows stale, and in doubt a package is raced.
#   raced        code or tests start a goroutine, use a channel or import what does
#   unraced      the others; and those with a file that is for tests without the race detector only (go:build !race)
#   environment  whoever hands on the process's whole environment (os.LookupEnv itself, not a call of it), for no other
#                package can see a variable of the program's: what one looks up by its name are variables of the tests.
#                Files for builds with a tag are in no run of make test
#   tests DIR    of packages, the names of the tests in files for tests without the race detector only, and in files that do
#                less where it runs (raced), with | between
#   switched DIR of one package, the names of the tests in which something streams unless the environment says otherwise: the
#                demo, and a configuration with streaming.enabled and without an endpoint's own setting, which is the stronger
#                one; streaming is off by default, so that no other test sees a difference
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
	# A test has it itself, or something of its file's that its tests use.
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
