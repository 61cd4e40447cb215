package terminal

import "time"

// The limits in this block are telex's own, because terminals have no published limits.
const (
	// textLimit is the maximum length of a message in terminal cells. A reply that is longer than textLimit continues in
	// the next message, so that every message fits into a frame.
	textLimit = 100_000
	// editInterval is the minimum time between two changes of a growing message. The preview loop looks for new text at
	// most once in editInterval.
	editInterval = 100 * time.Millisecond
	// typingFor is how long a client shows that the bot is working.
	typingFor = 5 * time.Second
	// keyFor is how long the gateway may repeat a create call with the same idempotency key. The hub uses the idempotency
	// key as the message's id. A create call that is repeated with the same key therefore shows no second message, even if
	// the client was attached to an earlier process.
	keyFor = 24 * time.Hour
	// returnsIn is how long a new process waits for clients of an earlier process to reconnect. The time between a
	// client's attempts to reconnect is shorter than returnsIn. A call that shows a preview may block for up to returnsIn.
	returnsIn = 10 * time.Second
	// MaxInput is the maximum length of an input in bytes.
	MaxInput = 64 << 10
	// MaxFiles is the maximum total size in bytes of the files of one input.
	MaxFiles = 12 << 20
	// maxHeld is the maximum total size in bytes of the files that a hub keeps for one client. The hub keeps the files of
	// an input until the input is answered or the client disconnects.
	maxHeld = 32 << 20
	// maxAttached is the maximum number of files of an input.
	maxAttached = 10
	// maxName is the maximum length of a client's name in bytes.
	maxName = 64
)

// These constants are timeouts for the connection to a client.
const (
	helloTimeout = 10 * time.Second // maximum time from the connection to the client's first frame
	writeTimeout = 10 * time.Second // for one frame
)
