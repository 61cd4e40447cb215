package store

import (
	"errors"
	"fmt"

	"telex/internal/chat"
)

// These are the errors that a caller can distinguish. Each is wrapped in an error that names the file and the remedy.
var (
	// ErrLocked: another process has locked the store.
	ErrLocked = errors.New("in use by another process")
	// ErrNewer: a newer telex wrote the store. Nothing was changed.
	ErrNewer = errors.New("written by a newer telex")
	// ErrOlder: an older telex wrote the store. Its schema must be updated before it can be read.
	ErrOlder = errors.New("written by an older telex")
	// ErrEmpty: the database has no tables of telex yet.
	ErrEmpty = errors.New("empty")
	// ErrForeign: the file is a database, but not one of telex. Nothing was changed.
	ErrForeign = errors.New("not a store of telex")
	// ErrCorrupt: the file is damaged or not a database. Nothing was changed.
	ErrCorrupt = errors.New("damaged")
	// ErrFull: the disk is full. Nothing of the failed call was stored; everything stored before is kept. The call
	// can be repeated when there is space again.
	ErrFull = errors.New("no space left for the store")
	// ErrAway: the database can't be reached now. The call can be repeated when the database is reachable again.
	ErrAway = errors.New("the database can't be reached")
	// ErrFenced: the turn may no longer write, because it ended or the session was reset.
	ErrFenced = fmt.Errorf("%w", chat.ErrFenced)
	// ErrUnknown: no such turn, or no such unfinished message.
	ErrUnknown = fmt.Errorf("%w", chat.ErrUnknown)
)
