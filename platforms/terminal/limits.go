package terminal

import "time"

// A terminal publishes no limits; these are ours.
const (
	// textLimit is the longest message, in cells. A longer reply goes on in the next one, so that a frame always holds
	// a message.
	textLimit = 100_000
	// editInterval is how often a message changes at most while it grows. The engine looks for new text no more often.
	editInterval = 100 * time.Millisecond
	// typingFor is how long a client takes the bot to be at work.
	typingFor = 5 * time.Second
	// keyFor: a message is called by its key, so that sending it again makes no second one, also on the screen of a client
	// that an earlier process sent it to.
	keyFor = 24 * time.Hour
	// returnsIn is how long a new process waits for clients of an earlier one. Clients try more often than that, and calls for
	// previews may wait as long.
	returnsIn = 10 * time.Second
	// MaxInput is the longest input, in bytes.
	MaxInput = 64 << 10
	// MaxFiles is how many bytes the files of an input have together.
	MaxFiles = 12 << 20
	// maxHeld is how many bytes of files a hub holds for a client: those of questions that are not answered yet.
	maxHeld = 32 << 20
	// maxAttached is the number of files of an input.
	maxAttached = 10
	// mostName is the longest name of a client, in bytes.
	mostName = 64
)

// How long the network may take.
const (
	helloTimeout = 10 * time.Second // from the connection to the client's first frame
	writeTimeout = 10 * time.Second // for one frame
)
