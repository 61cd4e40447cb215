package preview

import (
	"errors"
	"slices"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// Config configures how the replies of one endpoint stream.
type Config struct {
	Enabled      bool          // false: nothing is shown before the final except questions
	Interval     time.Duration // minimum time between the starts of two preview calls; 0: the platform's default
	MinTokens    int           // estimated number of tokens before the first display
	Cursor       string        // shown at the end of every preview
	Button       *chat.Action  // shown below drafts, and below previews where commands can't be typed; nil: no button
	ButtonAlways bool          // show Button below every preview
	Progress     bool          // show tool progress below the text of previews
	Transport    Transport     // how previews are sent, if the platform can do more than edit messages
	MaxParts     int           // text beyond this many parts is sent as a file, if the platform supports files; 0: never
	FileLine     string        // caption of the file with the rest of a final
	StopMark     string        // shown below an interrupted text, which may look complete; empty: nothing is shown
	FilesLine    string        // shown below a text whose files can't be sent; {files} is replaced by their names

	// Typed reports whether the asker typed a URL. If the asker typed every URL of a message, the platform may show a
	// preview of the first URL. If Typed is nil, there are no link previews.
	Typed func(address string) bool
}

// Transport is the way previews are sent.
type Transport uint8

// The transports. If the platform does not support the chosen transport, Edit is used.
const (
	Edit   Transport = iota // previews are shown by editing a message
	Draft                   // previews are ephemeral drafts; the final is sent as a message
	Native                  // previews are appended to a native stream of the platform
)

const (
	// slowAfter is the time after which the words of a slow model are shown even if there are fewer tokens than MinTokens.
	slowAfter = 5 * time.Second
	// layoutInterval is the minimum time between two layouts of the text if the first of them showed nothing new.
	layoutInterval = 100 * time.Millisecond
	// finalDeadline is how long the bot tries to show a final. The time finalDeadline counts from the ending, the last
	// successful call or the end of the last rate limit, whichever is latest.
	finalDeadline = 15 * time.Minute
	// slowCall is how long a call that shows a reply's ending may take before the conversation continues without that
	// reply.
	slowCall = 3 * time.Second
	// lastChance is the minimum time for which each process tries a final, even after its deadline.
	lastChance = time.Minute
	// maxOutage is how long a final is retried while the platform is down.
	maxOutage = 24 * time.Hour
	// minLimit is the shortest length to which "too long" errors can halve a part.
	minLimit = 32
	// maxUncertainCreates limits the create calls of unknown outcome per part: the first one and one repetition. One
	// repetition is allowed because a lost answer is worse than a duplicate.
	maxUncertainCreates = 2
	// maxTries is the number of processes that may end during a create call for the same part. After the death of maxTries
	// processes, the part is not sent again. Each crash during a create call may leave a duplicate message, and a part
	// that crashes every process must not be tried forever.
	maxTries = 4
)

// errUndelivered means that the final is not visible although no call failed.
var errUndelivered = errors.New("final is not visible")

func (p payload) equal(q payload) bool {
	return p.rendered.Text == q.rendered.Text && slices.Equal(p.rendered.Spans, q.rendered.Spans)
}

// placeholder is the content of a message that shows no text: platforms refuse empty messages.
const placeholder = "–"

// shortest is the content of a message whose text the platform refuses. A message that shows shortest still counts as
// text, so it is never deleted as blank.
const shortest = "…"

// blank reports whether p shows no text.
func (p payload) blank() bool {
	return p.rendered.Text == "" || p.rendered.Text == placeholder && p.end == 0
}

// nothing returns the payload of a message that shows no text.
func nothing() payload {
	return payload{rendered: markup.Rendered{Text: placeholder}, plain: placeholder}
}

// draft is the ephemeral preview that a person sees. The zero draft means that no draft is visible.
type draft struct {
	display
	part int
	at   time.Time // when the draft was last sent
}

// state is the data from which next decides, and which settle changes. The state needs no locks, because only Run uses
// it.
type state struct {
	place
	visibleState
	failures
	finalLayout

	view   View
	ending *Ending

	currentCreate *chat.Create // the create call that is being made, for Finder.Find; nil: Find does not need it
	searchResult  chat.Found   // result of the last search

	parts      []message // the messages of the text
	question   message
	superseded []message
	draft      draft
	cuts       []int // maximum lengths of the first parts, which were cut before limit was lowered

	muted        bool // this reply shows no more previews
	unreachable  bool // sending to this chat is impossible
	questionLost bool // a question message may exist whose id is unknown
	nameless     bool // a create call returned no message id
}

// place is the target of a reply and what the platform supports there.
type place struct {
	cfg         Config
	to          chat.Target
	moved       chat.ChatID // new id of the chat, if the chat got one
	replyTo     chat.MessageID
	key         string
	dialect     markup.Dialect
	limit       int           // maximum length of a part in the dialect's unit, without the room for the cursor
	ops         chat.Op       // supported kinds of call
	typing      time.Duration // interval for renewing the typing indicator; 0: no typing indicator is sent
	fileLimit   int64         // maximum size of a file in bytes; 0: unknown
	draftButton *chat.Action  // the stop button below a draft; nil: none
	draftFor    time.Duration // lifetime of a draft; 0: previews are not drafts
	streamFor   time.Duration // maximum duration of a stream; 0: previews are not streams
	grows       bool          // previews began as streams, so the text is laid out for appending
	lateFor     time.Duration // time for which a create call may still take effect after it failed; 0: it can't
	taken       time.Time     // Options.Taken
	keyFor      time.Duration // time for which a create call may be repeated with the same idempotency key
}

// can reports whether the platform supports a kind of call.
func (p *place) can(op chat.Op) bool { return p.ops&op != 0 }

// cannot records that the platform does not support a kind of call after all.
func (p *place) cannot(op chat.Op) { p.ops &^= op }

// visibleState is what people see of an unfinished reply, and when it changed.
type visibleState struct {
	source          string    // Markdown of the text that the parts show
	displayed       bool      // a person has seen something of this reply
	resent          int       // number of parts at the beginning that an earlier process has sent again (see resend)
	recoveredLength int       // length of the source that an earlier process had shown
	laidOutLength   int       // length of the text that was last laid out and shown
	shownFrame      frame     // frame that was shown around the text
	unchangedAt     time.Time // time when a layout last showed nothing new
	started         time.Time
	lastCall        time.Time // start of the last call that showed text
	lastType        time.Time
}

// at returns the message at index i. If i is beyond the last message, at returns an absent message.
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

// mute ends the previews of this reply if m is a message of the text.
func (s *state) mute(m *message) { s.muted = s.muted || m.role == roleText }

// visible returns the number of source bytes that a person sees.
func (s *state) visible() int {
	n := 0
	for _, p := range s.parts {
		if p.exists() {
			n = max(n, p.shown.body.end)
		}
	}
	return max(n, s.draft.body.end)
}

// plainPayload returns p without markup.
func plainPayload(p payload) payload {
	p.rendered = markup.Rendered{Text: p.plain}
	return p
}

// failure returns the reason why the reply was not delivered.
func (s *state) failure() error {
	if s.err != nil {
		return s.err
	}
	return errUndelivered
}
