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
	// mostPatience is how long a final outlasts a platform that is away altogether.
	mostPatience = 24 * time.Hour
	// leastLimit bounds how far "too long" can halve the length of a part.
	leastLimit = 32
	// uncertainCreates is how many creates of unknown outcome one part may cause: the first,
	// and one more, since losing an answer is worse than showing it twice.
	uncertainCreates = 2
	// mostTries is how many processes may end in a create of a part: each kill between its effect and its record
	// costs one more message, and what kills the process whenever it is sent must end some time.
	mostTries = 4
)

// errUndelivered is a final that no single failure explains.
var errUndelivered = errors.New("final is not visible")

func (p payload) equal(q payload) bool {
	return p.rendered.Text == q.rendered.Text && slices.Equal(p.rendered.Spans, q.rendered.Spans)
}

// hollow is what a message shows that has nothing of the text and can't be empty.
const hollow = "–"

// blank says that p has nothing of the text.
func (p payload) blank() bool {
	return p.rendered.Text == "" || p.rendered.Text == hollow && p.end == 0
}

// nothing is the payload of a message that has nothing of the text.
func nothing() payload {
	return payload{rendered: markup.Rendered{Text: hollow}, plain: hollow}
}

// draft is the ephemeral preview that a person sees. The zero draft is none.
type draft struct {
	display
	part int
	at   time.Time // when it was last sent
}

// state is all that next and settle know. It has no locks: its owner is Run.
type state struct {
	cfg       Config
	to        chat.Target
	replyTo   chat.MessageID
	key       string
	dialect   markup.Dialect
	limit     int // longest part in the dialect's unit, room for the cursor already taken off
	typing    time.Duration
	canEdit   bool
	canDelete bool
	canType   bool
	canProbe  bool // typing tells whether the platform answers
	canFile   bool
	fileLimit int64 // longest file in bytes; 0: none is known
	restText  bool  // what is beyond the most parts is text all the same
	canFind   bool
	canStream bool
	draftFor  time.Duration // how long a draft stays; 0: previews are not drafts
	streamFor time.Duration // how long a stream may last; 0: previews are not streams
	grows     bool          // previews began as streams: what is laid out only grows
	keyFor    time.Duration // how long a create may be repeated under its key

	view   View
	ending *Ending
	relaid bool // the ending is what was shown, in more messages than before

	parts     []message
	apart     message // a question that no preview can show; it is nothing of the reply
	stray     bool    // such a question may stand where nothing can find it
	draft     draft
	frozen    []frozen // messages that were replaced and can't be edited: to be deleted at the end
	cuts      []int    // how long the first parts were when they were cut, if longer than limit
	source    string   // Markdown of what the parts show
	displayed bool     // a person has seen something of this reply
	recovered int      // how much of the source that process had shown
	muted     bool     // no more previews in this reply
	dead      bool     // nothing can be sent here any more
	probed    bool     // the platform has answered since the last create of unknown outcome
	nameless  bool     // a create succeeded without an id
	moved     chat.ChatID
	err       error // the last failure
	started   time.Time
	lastCall  time.Time // when the last call that shows text started
	lastType  time.Time
	hold      time.Time      // own backoff after trouble
	trouble   int            // failures in a row
	refused   bool           // the last failure is one that only time can mend
	failing   time.Time      // when the first of them ended
	limited   int            // how many of them were rate limits
	answered  time.Time      // when any call of the endpoint last succeeded
	asked     time.Time      // when it was last tested whether the platform answers at all
	ended     time.Time      // when the ending came
	deadline  time.Time      // of the final; zero while the reply runs
	jitter    func() float64 // from [0,1): spreads what failed together; nil: no spread

	drawn  int       // length of the text that was last laid out and shown, as far as it can be
	told   frame     // what was shown around it
	looked time.Time // when a layout last had nothing new to show

	final   []markup.Part // layout of the ending, made once per limit
	texts   int           // how many of them show text, not the note alone
	remark  string        // what stands below the text, as people read it
	noteAt  int           // which of final the note ends in; -1: there is none
	rest    *chat.File    // what does not fit into the parts; nil: everything does
	restAt  int           // which of final is the caption of rest
	files   []chat.File   // of the ending, as far as they can be sent
	filesAt int           // which of final is the caption of the first of them
	kept    []markup.Part // the first of them, cut when limit was larger
	literal bool          // Markdown shows nothing of the final: it is shown as it was written
}

// at returns the message that an action is on.
func (s *state) at(i int) *message {
	if i == apart {
		return &s.apart
	}
	return &s.parts[i]
}

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
