#!/bin/sh
# sim.sh: simulate the whole gateway with random schedules, on every kind of platform, and print the result in one line. A schedule
# is a random sequence of model output, faults and kills. Schedules are generated in sets. The number of a set determines its
# schedules. These environment variables change what the script does:
#   SET=1           number of the first set; "random" means a random number
#   SETS=1          how many sets to play, beginning with SET
#   SCHEDULES=1500  how many schedules of each set to play for each kind of platform
#   KIND=           a regular expression for the kinds of platforms to play; empty means all
#   REPLICAS=       if not empty, two or three gateways share the store
#   SEED=           if not empty, play only the schedule with this seed, as printed with a violation. KIND must be set, too.
# The exit code is 1 if there is a violation. For each violation, the script prints a command that plays only its schedule. The
# script needs Go.
set -eu
cd "$(dirname "$0")/.."
kind=${KIND:-.*} first=${SET:-1} sets=${SETS:-1} schedules=${SCHEDULES:-1500}
test=TestRandomSchedules again='make sim'
if [ -n "${REPLICAS:-}" ]; then
	test=TestRandomSchedulesOfReplicas again='make sim REPLICAS=1'
fi
if [ "$first" = random ]; then
	first=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
fi
if [ -n "${SEED:-}" ]; then
	first=$SEED sets=1 schedules=1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
go test -c -o "$work/sim.test" ./gateway/sim
began=$(date +%s) played=0 violations=0 failed='' set=$first last=$((first + sets - 1))
while [ "$set" -le "$last" ]; do
	status=0
	(cd gateway/sim && GOGC=400 "$work/sim.test" -test.timeout=60m -test.v -test.run="^$test\$/^($kind)\$" \
		-rapid.nofailfile -rapid.checks="$schedules" -rapid.seed="$set") >"$work/out" 2>&1 || status=$?
	n=$(sed -n 's/^ *\([0-9]*\)  schedules$/\1/p' "$work/out")
	played=$((played + ${n:-0}))
	if [ "$status" -ne 0 ]; then
		failed="$failed $set"
		cat "$work/out"
	elif [ "$sets" -eq 1 ]; then
		cat "$work/out"
	else
		echo "set $set: $n schedules, no violation"
	fi
	# After a failure, the library rapid prints the seed and the name of the test. The name contains the kind of platform.
	sed -n "s|.*-run=\"$test/\([a-z-]*\)\" -rapid.seed=\([0-9]*\).*|$again KIND=\1 SEED=\2|p" "$work/out" |
		sort -u >"$work/again"
	violations=$((violations + $(wc -l <"$work/again")))
	cat "$work/again" >>"$work/all"
	set=$((set + 1))
done
seconds=$(($(date +%s) - began))
if [ -n "$failed" ]; then
	echo
	echo "play them again:"
	cat "$work/all"
fi
echo "sim: sets $first to $last, $played schedules, $violations violations${failed:+ (sets$failed)}, $seconds s"
[ -z "$failed" ]
