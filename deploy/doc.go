// Package deploy holds the files that install telex on a machine.
package deploy

import _ "embed"

// Unit is the systemd unit of the daemon.
//
//go:embed telex.service
var Unit []byte
