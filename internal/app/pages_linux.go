package app

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// releaseProgramPages makes the system remove the pages of the program's file from this process's memory. Most pages
// that the program used only while it started, such as those of the store's migrations, are never used again. If the
// program needs a removed page, the system loads it again from its page cache. No data can be lost, because nothing
// writes to these pages. https://man7.org/linux/man-pages/man2/madvise.2.html
func releaseProgramPages() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("release pages: %w", err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("release pages: %w", err)
	}
	for line := range bytes.Lines(maps) {
		var from, to uintptr
		var access, skip, path string
		if n, _ := fmt.Sscanf(string(line), "%x-%x %s %s %s %s %s", &from, &to, &access, &skip, &skip, &skip, &path); n < 7 {
			continue
		}
		if path != program || access != "r-xp" && access != "r--p" {
			continue
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("release pages: %w", errno)
		}
	}
	return nil
}
