//go:build !linux

package app

import (
	"errors"
	"net"
)

func peerOf(*net.UnixConn) (uid uint32, err error) { return 0, errors.ErrUnsupported }
