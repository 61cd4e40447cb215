//go:build unix

package store

import (
	"os"
	"path/filepath"
	"syscall"
)

// giveToOwner gives a file that root made in a directory to the directory's owner: the user of a service could not
// open it otherwise. Anybody else owns what they make, and can give nothing away.
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
