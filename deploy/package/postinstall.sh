#!/bin/sh
# dpkg (with the argument "configure") and rpm (with the number of installed versions) run this after they have installed the files.
set -e
systemd-sysusers telex.conf
chmod 0700 /etc/telex /etc/telex/secrets
if [ ! -d /run/systemd/system ]; then # not booted with systemd, as in a container or while an image is built
	exit 0
fi
systemctl daemon-reload
if systemctl --quiet is-active telex.service; then # an upgrade: the new process completes what the old process began
	systemctl restart telex.service
elif [ ! -e /etc/telex/config.yaml ]; then
	echo 'telex: next, run "telex setup --service"'
fi
