#!/bin/sh
# Run by dpkg ("configure") and by rpm (the number of installed versions) after the files are there.
set -e
systemd-sysusers telex.conf
chmod 0700 /etc/telex /etc/telex/secrets
if [ ! -d /run/systemd/system ]; then # not booted with systemd, as in a container or an image that is being made
	exit 0
fi
systemctl daemon-reload
if systemctl --quiet is-active telex.service; then # an upgrade: the new process completes what the old one began
	systemctl restart telex.service
elif [ ! -e /etc/telex/config.yaml ]; then
	echo 'telex: next, run "telex setup --service"'
fi
