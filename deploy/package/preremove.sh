#!/bin/sh
# Run by dpkg ("remove" or "upgrade") and by rpm (the number of versions that stay) before the files go.
set -e
case $1 in
remove | 0) ;;
*) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
	systemctl --quiet disable --now telex.service || true
fi
