#!/bin/sh
# debian.sh FOLDER: install a small Debian with systemd in FOLDER, if FOLDER does not contain one yet. The script needs
# root, debootstrap and a Debian mirror (DEBIAN_MIRROR).
set -eu
folder=$1
for program in debootstrap systemd-nspawn nsenter; do
	if ! command -v "$program" >/dev/null; then
		echo "make test-systemd: $program not found: apt-get install debootstrap systemd-container util-linux" >&2
		exit 1
	fi
done
if [ "$(id -u)" -ne 0 ]; then
	echo 'make test-systemd: booting a machine needs root' >&2
	exit 1
fi
if [ ! -e "$folder/etc/debian_version" ]; then
	rm -rf "$folder.new"
	debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,passwd bookworm "$folder.new" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$folder.log"
	mv "$folder.new" "$folder"
fi
