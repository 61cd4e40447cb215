//go:build !linux

package provider

import "net"

// gather returns c unchanged, because gathering is implemented only on Linux.
func gather(c net.Conn) net.Conn { return c }
