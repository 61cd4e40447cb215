#!/bin/sh
# unit.sh FILE: verify a systemd unit. `systemd-analyze verify` succeeds even if the unit contains an unknown key. The script
# therefore treats every line of the command's output as an error, except a line that says that telex is not installed.
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
# Fail if the unit's exposure level is more than 1.2, on a scale from 0 (best) to 10. The current level is about 1.1. The value of the
# option --threshold is in tenths.
if ! report=$(systemd-analyze security --no-pager --offline=true --threshold=12 "$unit" 2>&1); then
	echo "$report"
	exit 1
fi
echo "$report" | tail -n 1
