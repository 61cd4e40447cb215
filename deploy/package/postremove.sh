#!/bin/sh
# dpkg and rpm run this after they have deleted the files. Only "purge" deletes data: the configuration with its secrets, the
# store with all conversations, and the user telex.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
if [ "$1" = purge ]; then
	rm -rf /etc/telex /etc/systemd/system/telex.service.d /var/lib/telex /var/lib/private/telex
	if id telex >/dev/null 2>&1; then
		userdel telex
	fi
fi
