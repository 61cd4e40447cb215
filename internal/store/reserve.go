package store

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"
)

// reserveSize is the size of the reserve file in bytes. This space is enough to finish many simultaneous answers,
// because SQLite reuses the space of the write-ahead log.
const reserveSize = 8 << 20

// keepEvery is the time between two attempts to create the reserve file again. On a full disk, each attempt to create
// the file fills the space that is left and delays all writers.
const keepEvery = 5 * time.Second

// reserve manages the reserve file, which only occupies disk space. When the disk is full, the store deletes the
// reserve file, so that running turns can end in the freed space. Until the store can create the reserve file again, it
// refuses new messages. Without the freed space, the store could not record an answer that people have already seen,
// and telex would send the answer again after a restart. Only one goroutine at a time uses a reserve, so a reserve
// needs no lock: first the goroutine that opens the store, and then the writer's goroutine.
type reserve struct {
	name    string
	log     *slog.Logger
	now     func() time.Time
	exists  bool
	missing error     // why the reserve file is missing
	tried   time.Time // when the reserve file was deleted, or when creating it failed
	short   bool      // since the last accepted message, the store has refused a message or deleted the reserve file
}

// newReserve returns the reserve of the store at path. The reserve file may be missing.
func newReserve(path string, log *slog.Logger, now func() time.Time) *reserve {
	r := &reserve{name: path + "-reserve", log: log, now: now}
	st, err := os.Stat(r.name)
	r.exists = err == nil && st.Size() == reserveSize
	return r
}

// release deletes the reserve file after a call has failed because the disk is full. The parameter full is the error of
// this call. release reports whether it has freed space.
func (r *reserve) release(full error) bool {
	if !r.exists {
		return false
	}
	r.exists, r.short = false, true
	r.missing, r.tried = full, r.now()
	if err := remove(r.name); err != nil {
		r.log.Error("reserve of the store could not be removed", slog.Any("error", err))
		return false
	}
	r.log.Warn("the disk is full; running turns finish with the space of the store's reserve", slog.String("reserve", r.name))
	return true
}

// keep creates the reserve file if the file is missing. keep returns an error if the disk has no space for the file.
// For the time keepEvery after the file was deleted or could not be created, keep does not try to create it, and
// returns the last error.
func (r *reserve) keep() error {
	switch {
	case r.exists:
		return nil
	case r.missing == nil, r.now().Sub(r.tried).Abs() >= keepEvery: // Abs, because somebody may have set the clock back
		r.missing = r.write()
		r.tried = r.now()
	}
	if r.missing != nil {
		r.short = true
		return fmt.Errorf("restore the reserve: %w", r.missing)
	}
	r.exists = true
	return nil
}

// The store calls record after it has accepted a message (taken), or refused a message because the disk is full. record
// does not log a refused message, because the caller of Accept gets an error. record logs when a message is accepted
// again after a refusal.
func (r *reserve) record(taken, full bool) {
	if taken && r.short {
		r.log.Info("the disk has space again; new messages are accepted")
	}
	r.short = full || r.short && !taken
}

// write fills the reserve file with bytes that no file system can compress. If writing fails, write deletes the reserve
// file.
func (r *reserve) write() error {
	f, err := os.OpenFile(r.name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	if err = giveToOwner(r.name); err == nil {
		_, err = io.CopyN(f, rand.NewChaCha8([32]byte{}), reserveSize)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, remove(r.name))
	}
	return nil
}
