package store

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// giveToOwner makes the owner of a directory also the owner of a file in the directory that root has created. Otherwise
// the service, which runs as the directory's owner, could not open the file. If the process does not run as root,
// giveToOwner does nothing.
func giveToOwner(name string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	st, err := os.Stat(filepath.Dir(name))
	if err != nil {
		return err
	}
	dir, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return os.Lchown(name, int(dir.Uid), int(dir.Gid))
}

// diskFull reports whether the file system of dir has no space for an ordinary user.
func diskFull(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Bavail == 0
}

// outOfSpace reports whether the error err is the system's error for a full disk or an exhausted quota.
func outOfSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// syncDir syncs a directory, so that the names of new and renamed files in it survive a power loss.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
