#!/bin/sh
# dpkg (with the argument "remove" or "upgrade") and rpm (with the number of versions that stay) run this before they delete the
# files.
set -e
case $1 in
remove | 0) ;;
*) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
	systemctl --quiet disable --now telex.service || true
fi
