package store

import (
	"errors"
	"fmt"

	"telex/internal/chat"
)

// Callers can distinguish these errors with errors.Is. The store wraps each of these errors, except for ErrFenced and
// ErrUnknown, in an error that names the file or the database, and usually the remedy.
var (
	// ErrLocked: another process has locked the store.
	ErrLocked = errors.New("in use by another process")
	// ErrNewer: a newer version of telex wrote the store. Nothing was changed.
	ErrNewer = errors.New("written by a newer telex")
	// ErrOlder: an older version of telex wrote the store. ErrOlder means that the store's schema must be updated before
	// the store can be read.
	ErrOlder = errors.New("written by an older telex")
	// ErrEmpty: the database does not contain telex's tables yet.
	ErrEmpty = errors.New("empty")
	// ErrForeign: the file is a database of another program. Nothing was changed.
	ErrForeign = errors.New("not a store of telex")
	// ErrCorrupt: the file is damaged or not a database. Nothing was changed.
	ErrCorrupt = errors.New("damaged")
	// ErrFull: the disk is full. A call that failed with ErrFull stored nothing; all earlier data is kept. After ErrFull,
	// the call can be repeated when the disk has space again.
	ErrFull = errors.New("no space left for the store")
	// ErrAway: the database can't be reached now. After ErrAway, the call can be repeated later.
	ErrAway = errors.New("the database can't be reached")
	// ErrFenced: the turn may no longer write, because the turn ended or its session was reset.
	ErrFenced = fmt.Errorf("%w", chat.ErrFenced)
	// ErrUnknown: the store does not contain the turn or the unfinished message that the call names.
	ErrUnknown = fmt.Errorf("%w", chat.ErrUnknown)
)
