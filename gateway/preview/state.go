package preview

import (
	"errors"
	"slices"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// Config says how replies of one endpoint stream.
type Config struct {
	Enabled      bool          // false: one send, never a cursor; only what asks a person is shown before the final
	Interval     time.Duration // least time between the starts of two preview calls; 0: the platform's default
	MinTokens    int           // the first display waits for so many tokens, by estimate
	Cursor       string        // stands at the end of every preview
	Button       *chat.Action  // stands below every preview where commands can't be typed; nil: none. It comes and goes with the cursor
	ButtonAlways bool          // it stands below every preview
	Progress     bool          // what tools do is shown below the text of previews
	Transport    Transport     // how previews reach the platform, where it can do more than edit
	MaxParts     int           // a final of more parts goes on as a file, where the platform takes files; 0: never
	FileLine     string        // caption of that file
	StopMark     string        // below a text that was stopped, so that it does not look complete; empty: nothing
	FilesLine    string        // below a text whose files can't be sent; {files} is their names

	// Typed reports whether the asker typed an address. Where the asker typed every address of a message, the platform may
	// show a preview of the first. nil: it shows none.
	Typed func(address string) bool
}

// Transport is how previews reach a platform.
type Transport uint8

// The transports. Where a place lacks one, Edit serves.
const (
	Edit   Transport = iota // a message that is edited
	Draft                   // an ephemeral draft; the final is a message of its own
	Native                  // a stream of the platform's own, which only grows
)

const (
	// slowAfter is when a slow model's whole words are shown, MinTokens or not.
	slowAfter = 5 * time.Second
	// lookEvery bounds how often text is laid out that turns out to show nothing new.
	lookEvery = 100 * time.Millisecond
	// finalDeadline is how long a final is tried after the last time the platform said when
	// to come back.
	finalDeadline = 15 * time.Minute
	// slowCall is how long a call of an ending may take before the conversation may go on without it.
	slowCall = 3 * time.Second
	// lastChance is how long a final is tried at least by a process that finds it after its time.
	lastChance = time.Minute
	// maxPatience is how long a final outlasts a platform that is away altogether.
	maxPatience = 24 * time.Hour
	// minLimit bounds how far "too long" can halve the length of a part.
	minLimit = 32
	// uncertainCreates is how many creates of unknown outcome one part may cause: the first,
	// and one more, since losing an answer is worse than showing it twice.
	uncertainCreates = 2
	// maxTries is how many processes may end in a create of a part: each kill between its effect and its record
	// costs one more message, and what kills the process whenever it is sent must end some time.
	maxTries = 4
)

// errUndelivered is a final that no single failure explains.
var errUndelivered = errors.New("final is not visible")

func (p payload) equal(q payload) bool {
	return p.rendered.Text == q.rendered.Text && slices.Equal(p.rendered.Spans, q.rendered.Spans)
}

// placeholder stands in a message that shows nothing of the text: platforms take no empty ones.
const placeholder = "–"

// blank says that p has nothing of the text.
func (p payload) blank() bool {
	return p.rendered.Text == "" || p.rendered.Text == placeholder && p.end == 0
}

// nothing is the payload of such a message.
func nothing() payload {
	return payload{rendered: markup.Rendered{Text: placeholder}, plain: placeholder}
}

// draft is the ephemeral preview that a person sees. The zero draft is none.
type draft struct {
	display
	part int
	at   time.Time // when it was last sent
}

// state is all that next and settle know. It has no locks: its owner is Run.
type state struct {
	place
	soFar
	failures
	finale

	view   View
	ending *Ending

	parts      []message // of the text
	question   message
	superseded []message
	draft      draft
	cuts       []int // how long the first parts were when they were cut, if longer than limit

	muted    bool // no more previews in this reply
	dead     bool // nothing can be sent here any more
	stray    bool // a question apart may stand where nothing can find it
	nameless bool // a create succeeded without an id
}

// place is where a reply goes, and what can be done there.
type place struct {
	cfg       Config
	to        chat.Target
	moved     chat.ChatID // where the chat went meanwhile
	replyTo   chat.MessageID
	key       string
	dialect   markup.Dialect
	limit     int           // longest part in the dialect's unit, room for the cursor already taken off
	ops       chat.Op       // what the platform can do
	typing    time.Duration // how often to show that the bot is at work; 0: not at all
	fileLimit int64         // longest file in bytes; 0: none is known
	draftFor  time.Duration // how long a draft stays; 0: previews are not drafts
	streamFor time.Duration // how long a stream may last; 0: previews are not streams
	grows     bool          // previews began as streams: what is laid out only grows
	keyFor    time.Duration // how long a create may be repeated under its key
}

// can says that the platform can make calls of a kind.
func (p *place) can(op chat.Op) bool { return p.ops&op != 0 }

// cannot notes that the platform does not make calls of a kind after all.
func (p *place) cannot(op chat.Op) { p.ops &^= op }

// soFar is what people see of a reply while it is written, and when it changed.
type soFar struct {
	source      string    // Markdown of what the parts show
	displayed   bool      // a person has seen something of this reply
	recovered   int       // how much of the source an earlier process had shown
	laidOut     int       // length of the text that was last laid out and shown, as far as it can be
	shownFrame  frame     // what was shown around it
	unchangedAt time.Time // when a layout last had nothing new to show
	started     time.Time
	lastCall    time.Time // when the last call that shows text started
	lastType    time.Time
}

// at returns the message at a place: one that is absent behind the last.
func (s *state) at(i int) *message {
	switch {
	case i >= len(s.parts):
		return new(message)
	case i >= 0:
		return &s.parts[i]
	case i == questionAt:
		return &s.question
	default:
		return &s.superseded[supersededAt-i]
	}
}

// mute ends the previews because of trouble with a message of the text.
func (s *state) mute(m *message) { s.muted = s.muted || m.role == roleText }

// visible is how many source bytes a person sees.
func (s *state) visible() int {
	n := 0
	for _, p := range s.parts {
		if p.exists() {
			n = max(n, p.shown.body.end)
		}
	}
	return max(n, s.draft.body.end)
}

// plainPayload is p without markup.
func plainPayload(p payload) payload {
	p.rendered = markup.Rendered{Text: p.plain}
	return p
}

// failure is why the reply was not delivered.
func (s *state) failure() error {
	if s.err != nil {
		return s.err
	}
	return errUndelivered
}
