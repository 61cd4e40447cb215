#!/bin/sh
# unit.sh FILE: verify a systemd unit. `systemd-analyze verify` exits 0 on keys it does not know, so any
# line it prints is an error, but for the one that the binary is not installed on this machine.
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
# 1.1 when this was written, on a scale to 10 where less is better; the threshold is in tenths.
if ! report=$(systemd-analyze security --no-pager --offline=true --threshold=12 "$unit" 2>&1); then
	echo "$report"
	exit 1
fi
echo "$report" | tail -n 1
