package app

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerOf returns the id of the Unix user at the other end of a connection:
// https://man7.org/linux/man-pages/man7/unix.7.html, SO_PEERCRED
func peerOf(conn *net.UnixConn) (uid uint32, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return 0, err
	}
	return peer.Uid, nil
}
