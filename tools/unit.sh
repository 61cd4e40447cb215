#!/bin/sh
# unit.sh FILE: verify a systemd unit. `systemd-analyze verify` exits with 0 even if it does not know a key in the unit. So the
# script treats every line of its output as an error, except the line that says that telex is not installed on this machine.
set -eu
unit=$1
if ! command -v systemd-analyze >/dev/null; then
	echo "unit: systemd-analyze is not installed, $unit is not verified"
	exit 0
fi
found=$(systemd-analyze verify "$unit" 2>&1 | grep -v 'Command telex is not executable' || true)
if [ -n "$found" ]; then
	echo "$found"
	exit 1
fi
# Fail if the unit's exposure level, on a scale from 0 (best) to 10, is more than 1.2; it is about 1.1. The option --threshold
# counts tenths.
if ! report=$(systemd-analyze security --no-pager --offline=true --threshold=12 "$unit" 2>&1); then
	echo "$report"
	exit 1
fi
echo "$report" | tail -n 1
