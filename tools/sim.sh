#!/bin/sh
# sim.sh: play sets of random schedules of the whole gateway, each set on every kind of platform, and say in one line
# what they came to. A set is the number that its schedules are drawn from. From the environment:
#   SET=1        the first set; "random" takes one that nobody has played
#   SETS=1       how many sets, SET and those behind it
#   SCHEDULES    of each kind in a set; 1500
#   KIND=        a kind of platform, as a regular expression; all
#   REPLICAS=    not empty: two or three gateways share the store
#   SEED=        one schedule: what a violation was reported with. It needs KIND
# Exit 1 when there is a violation; each is printed with the command that plays its schedule alone. Needed: Go.
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
	# rapid names the kind in the name of the test, and the seed.
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
