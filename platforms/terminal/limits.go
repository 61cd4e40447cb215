package terminal

import "time"

// Terminals have no published limits; these are telex's own.
const (
	// textLimit is the longest message, in cells. A longer reply continues in the next message, so that every message
	// fits into a frame.
	textLimit = 100_000
	// editInterval is the minimum time between two changes of a growing message. The preview loop does not look for
	// new text more often.
	editInterval = 100 * time.Millisecond
	// typingFor is how long a client shows that the bot is working.
	typingFor = 5 * time.Second
	// keyFor is how long a create may be repeated. A message's key is its id, so that a repeated create makes no
	// second message, even on the screen of a client that was attached to an earlier process.
	keyFor = 24 * time.Hour
	// returnsIn is how long a new process waits for clients of an earlier one. Clients try to reconnect at shorter
	// intervals. A call for a preview may wait that long.
	returnsIn = 10 * time.Second
	// MaxInput is the longest input, in bytes.
	MaxInput = 64 << 10
	// MaxFiles is the maximum size of an input's files together, in bytes.
	MaxFiles = 12 << 20
	// maxHeld is the maximum size of the files that a hub keeps for one client, in bytes. It keeps the files of
	// unanswered inputs.
	maxHeld = 32 << 20
	// maxAttached is the maximum number of files of an input.
	maxAttached = 10
	// maxName is the longest name of a client, in bytes.
	maxName = 64
)

// Network timeouts.
const (
	helloTimeout = 10 * time.Second // from the connection to the client's first frame
	writeTimeout = 10 * time.Second // for one frame
)
