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

// reserveSize is the size of the reserve file in bytes. Many simultaneous answers write less than this until they
// end, because the space of the write-ahead log is reused.
const reserveSize = 8 << 20

// keepEvery is the pause between attempts to create the reserve file again. Each attempt fills the disk and delays
// all writers.
const keepEvery = 5 * time.Second

// reserve is a file that only occupies space. When the disk is full, it is removed, so that the running turns can end
// in the freed space. New messages are refused until the file exists again. Without this space, an answer that people
// have already seen could not be recorded, and would be sent again after a restart. Only the writer's goroutine uses
// a reserve, and before it the function that opens the store.
type reserve struct {
	name    string
	log     *slog.Logger
	now     func() time.Time
	exists  bool
	missing error     // why the file is missing
	tried   time.Time // when the file was removed, or could not be created
	short   bool      // a message was refused or the file was removed since the last accepted message
}

// newReserve checks whether the reserve file exists.
func newReserve(path string, log *slog.Logger, now func() time.Time) *reserve {
	r := &reserve{name: path + "-reserve", log: log, now: now}
	st, err := os.Stat(r.name)
	r.exists = err == nil && st.Size() == reserveSize
	return r
}

// release removes the reserve file after a call has failed with the error full. It reports whether that freed space.
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

// keep creates the reserve file if it is missing, and returns the error if that is impossible. It tries at most once
// per keepEvery.
func (r *reserve) keep() error {
	switch {
	case r.exists:
		return nil
	case r.missing == nil, r.now().Sub(r.tried).Abs() >= keepEvery: // the clock may have been set back
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

// record notes whether a message was accepted, or refused because the disk is full. The caller logs refusals. record
// logs the first accepted message after a refusal.
func (r *reserve) record(taken, full bool) {
	if taken && r.short {
		r.log.Info("the disk has space again; new messages are accepted")
	}
	r.short = full || r.short && !taken
}

// write fills the reserve file with bytes that no file system can compress. If it fails, it removes the file.
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
