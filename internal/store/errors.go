package store

import (
	"errors"
	"fmt"

	"telex/internal/chat"
)

// Errors that a caller can distinguish. Each is wrapped in an error that names the file and the remedy.
var (
	// ErrLocked: another process holds the store.
	ErrLocked = errors.New("in use by another process")
	// ErrNewer: a newer telex wrote the store. Nothing was changed.
	ErrNewer = errors.New("written by a newer telex")
	// ErrOlder: an older telex wrote the store, and it can't be read before it is brought up to date.
	ErrOlder = errors.New("written by an older telex")
	// ErrForeign: the file is a database, but not one of telex. Nothing was changed.
	ErrForeign = errors.New("not a store of telex")
	// ErrCorrupt: the file is damaged or no database at all. Nothing was changed.
	ErrCorrupt = errors.New("damaged")
	// ErrFull: the disk is full. Nothing of the refused call was stored, everything before it was, and
	// the same call succeeds once there is room.
	ErrFull = errors.New("no space left for the store")
	// ErrAway: the database can't be reached now. The same call succeeds once it is back.
	ErrAway = errors.New("the database can't be reached")
	// ErrFenced: the turn may not write any more: it ended, or the session was reset.
	ErrFenced = fmt.Errorf("%w", chat.ErrFenced)
	// ErrUnknown: no such turn, or no such unfinished message.
	ErrUnknown = fmt.Errorf("%w", chat.ErrUnknown)
)
