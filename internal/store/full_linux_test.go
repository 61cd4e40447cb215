package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"telex/internal/chat"
	"telex/internal/store"
)

// disk is a small file system, which a test can fill.
type disk struct {
	*testing.T
	dir string
}

// newDisk mounts a file system of the given size, if the user may mount file systems. If the user may not mount file
// systems, TestFull and TestReserve still test the same behaviour. Tests that use a disk don't run in parallel with
// tests that start processes. A child process that is starting briefly holds all open files, so deleting a file might
// not free its space in time.
func newDisk(t *testing.T, size int) (disk, bool) {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+strconv.Itoa(size)); err != nil {
		t.Logf("no disk of its own: %v", err)
		return disk{}, false
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return disk{t, dir}, true
}

// fill fills the disk until the given number of bytes is free.
func (d disk) fill(free int) {
	d.Helper()
	d.empty()
	write(d.T, d.ballast(), make([]byte, max(0, int(d.free())-free)))
}

// empty deletes the files that fill wrote, and waits until the file system reports the free space, which takes a moment
// on some systems.
func (d disk) empty() {
	d.Helper()
	info, err := os.Stat(d.ballast())
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err == nil {
		err = os.Remove(d.ballast())
	}
	if err != nil {
		d.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); d.free() < info.Size(); runtime.Gosched() {
		if time.Now().After(deadline) {
			d.Fatalf("%d bytes are free although %d were given back", d.free(), info.Size())
		}
	}
}

// free returns the number of free bytes.
func (d disk) free() int64 {
	d.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(d.dir, &st); err != nil {
		d.Fatal(err)
	}
	return int64(st.Bavail) * st.Bsize //nolint:gosec // these numbers are far too small to overflow
}

func (d disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// TestFullDisk runs TestFull on a disk that is really full.
func TestFullDisk(t *testing.T) { //nolint:paralleltest // see newDisk
	d, ok := newDisk(t, 16<<20)
	if !ok {
		return
	}
	path := filepath.Join(d.dir, "telex.db")
	s, clock := openTimed(t, path)
	d.fill(1 << 20)
	fillUp(t, path, s, func() { d.empty(); clock.advance(store.KeepEvery) })

	// If opening a store fails for lack of space, it must leave no partial files.
	for _, name := range []string{path, path + "-reserve"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	d.fill(0)
	if _, err := store.Open(t.Context(), store.Options{Path: path}); !errors.Is(err, store.ErrFull) {
		t.Errorf("new store: got %v, want %v", err, store.ErrFull)
	}
	d.empty()
	s = mustOpen(t, path)
	d.fill(0)
	if err := s.Backup(t.Context(), filepath.Join(d.dir, "backup.db")); !errors.Is(err, store.ErrFull) {
		t.Errorf("backup: got %v, want %v", err, store.ErrFull)
	}
	for _, left := range []string{"backup.db*", "telex.db.new"} {
		if names, err := filepath.Glob(filepath.Join(d.dir, left)); err != nil || len(names) > 0 {
			t.Errorf("%q, %v was left behind", names, err)
		}
	}
	mustClose(t, s)
}

// The test starts with a disk on which another program has used the last byte. Although the disk is full, all running
// turns must be able to end, and the next process must not run them again. New messages must wait on the platform until
// the disk has space (F43).
func TestFullDiskEndsRunningTurns(t *testing.T) { //nolint:paralleltest // see newDisk
	const crowd = 100
	d, ok := newDisk(t, 32<<20)
	if !ok {
		return
	}
	path := filepath.Join(d.dir, "telex.db")
	f := &fixture{T: t, Store: mustOpen(t, path)}
	chatOf := func(i int) chat.Conversation { return private(chat.ChatID(strconv.Itoa(i))) }
	for i := range crowd {
		f.accept(chatOf(i), "1")
		f.begin(strconv.Itoa(i), chatOf(i), "1")
	}
	d.fill(0)
	text := strings.Repeat("text ", 800)
	for step := range 10 { // each of the two messages is edited ten times
		for i := range crowd {
			for part := range 2 {
				f.must(f.Record(t.Context(), strconv.Itoa(i), chat.Part{
					Index: part, State: chat.PartStands, Text: text[:400*(step+1)], Source: text[:400*(step+1)], Ref: chat.MessageRef{ID: "9"},
				}))
			}
		}
	}
	if _, err := f.Accept(t.Context(), chatOf(0), message(chatOf(0), "2")); !errors.Is(err, store.ErrFull) {
		t.Errorf("a new message: got %v, want %v", err, store.ErrFull)
	}
	for i := range crowd {
		f.must(f.Decide(t.Context(), strconv.Itoa(i), decision(text, "question", text)))
		f.must(f.End(t.Context(), strconv.Itoa(i), chat.Growth{}))
	}
	f.close()
	d.fill(64 << 10) // the reserve file is gone, and opening the store needs space for the index of the write-ahead log
	var clock *clock
	f.Store, clock = openTimed(t, path)
	f.waits()
	if _, err := f.Accept(t.Context(), chatOf(0), message(chatOf(0), "2")); !errors.Is(err, store.ErrFull) {
		t.Errorf("a new message in a new process: got %v, want %v", err, store.ErrFull)
	}
	d.empty()
	clock.advance(store.KeepEvery)
	f.accept(chatOf(0), "2")
	f.remembers(chatOf(0), "question", text)
	f.close()
}

// A process starts while the disk is full. The process must delete the reserve file, and use the freed space for ending
// the turns of the previous process. If there is no reserve file to delete, the start must fail (F43).
func TestFullDiskRestart(t *testing.T) { //nolint:paralleltest // see newDisk
	d, ok := newDisk(t, 32<<20)
	if !ok {
		return
	}
	path := filepath.Join(d.dir, "telex.db")
	f := &fixture{T: t, Store: mustOpen(t, path)}
	c := private("1")
	f.accept(c, "1")
	f.begin("t", c, "1")
	f.close()
	d.fill(0)
	f.Store = mustOpen(t, path)
	if _, err := f.Accept(t.Context(), c, message(c, "2")); !errors.Is(err, store.ErrFull) {
		t.Errorf("a new message: got %v, want %v", err, store.ErrFull)
	}
	f.must(f.Decide(t.Context(), "t", decision("answer", "question", "answer")))
	f.must(f.End(t.Context(), "t", chat.Growth{}))
	f.waits()
	f.close()

	d.fill(0)
	_, err := store.Open(t.Context(), store.Options{Path: path})
	f.is(err, store.ErrFull)
	d.empty()
	f.Store = mustOpen(t, path)
	f.accept(c, "2")
	f.remembers(c, "question", "answer")
	f.close()
}
