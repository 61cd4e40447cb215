#!/bin/sh
# Run by dpkg and by rpm after the files are gone. Only "purge" deletes what people wrote: the configuration with its
# secrets, the store with all conversations, and the user.
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
