package preview

import (
	"slices"
	"strings"
	"sync"
	"time"

	"telex/internal/chat"
)

// View is the newest known state of a reply.
type View struct {
	Text   string    // all text so far
	Tokens int       // estimated tokens of Text
	Since  time.Time // arrival time of the oldest text that is not visible yet; zero if all text is visible
	Resets int       // number of times the text started over
	Status Status    // what the turn does besides writing
	Paused bool      // the model uses a tool now: the model's next text begins a new paragraph
}

// Ending describes how a reply ends.
type Ending struct {
	Text string // the final text, as Markdown
	Cut  bool   // Text was interrupted: Markdown that is still open at the end of Text gets closed
	Note string // a plain line below Text, such as the reason why the reply was interrupted

	// Keep leaves visible messages as they are, but removes the cursor. If Text or Note is set as well, telex began to
	// show Text and Note as the final and then gave up.
	Keep bool

	// Stopped adds Config.StopMark, usually "(stopped)", below the visible text, because the text is incomplete. Stopped
	// requires Keep.
	Stopped bool

	// Stand leaves visible messages as they are, including a question and its buttons, because another process
	// continues the reply. Stand requires Keep.
	Stand bool

	// At is the time when the ending was decided; zero means now. The deadline for showing a final counts from At, even
	// in a later process.
	At time.Time

	// Files are sent after the text, in order, each in its own message. The messages with files are never edited. Files
	// that can't be sent are named below the text instead, and a file that the platform refuses is left out.
	Files []chat.File
}

// givesUp reports whether e gives up a final that some messages may already show.
func (e *Ending) givesUp() bool { return e != nil && e.Keep && e.Text+e.Note != "" }

// Slot passes the newest view from a turn to the goroutine that shows the reply. A newer view replaces an unread one,
// so the turn never blocks.
type Slot struct {
	mu            sync.Mutex
	text          *strings.Builder
	tokens        int
	resets        int
	since         time.Time
	status        Status
	paused        int       // length of the text when the model switched to a tool
	askedSince    time.Time // time when the status's question became visible; zero: the question is not visible
	ending        *Ending
	changed       chan struct{} // capacity 1: signals a change, not the number of changes
	ended         chan struct{} // closed by Finish
	decided       bool          // set by Decide: from then on, Finish has no effect
	cut           chan struct{} // closed by Cut
	erased        bool          // set by Redraw: the platform removed the draft
	questionAsked chan struct{} // capacity 1: signals a question, which is shown without waiting for Config.Interval
	visible       bool          // a message of the reply exists
	readable      bool          // at least one message shows more than a question or the progress of tools
	shown         string        // Markdown of the last preview that a person saw
	waiting       Waiting
	first         precedence
}

// NewSlot returns an empty slot.
func NewSlot() *Slot {
	return &Slot{
		text: new(strings.Builder), changed: make(chan struct{}, 1), questionAsked: make(chan struct{}, 1),
		ended: make(chan struct{}), cut: make(chan struct{}), first: precedence{urgent: make(chan struct{}, 1)},
	}
}

// Append appends delta to the text. The parameter tokens is the estimated number of tokens in delta.
func (s *Slot) Append(delta string, tokens int) {
	s.mu.Lock()
	s.text.WriteString(delta)
	s.tokens += tokens
	if s.since.IsZero() {
		s.since = time.Now()
	}
	s.mu.Unlock()
	notify(s.changed)
}

// Reset discards all text: the reply starts over.
func (s *Slot) Reset() {
	s.mu.Lock()
	s.text, s.tokens, s.paused = new(strings.Builder), 0, 0
	s.resets++
	s.mu.Unlock()
	notify(s.changed)
}

// Finish ends the reply. Only the first call of Finish has an effect.
func (s *Slot) Finish(e Ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.decided {
		s.finish(e)
	}
}

// Decide calls store and then ends the reply with e. Once Decide has begun, calls of Finish have no effect. If the
// reply already has an ending, Decide does nothing.
func (s *Slot) Decide(e Ending, store func()) {
	s.mu.Lock()
	open := s.ending == nil && !s.decided
	s.decided = s.decided || open
	s.mu.Unlock()
	if !open {
		return
	}
	store()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(e)
}

func (s *Slot) finish(e Ending) {
	if s.ending == nil {
		s.ending = &e
		close(s.ended)
	}
}

// Cut gives up the part of an ending that is not visible yet. Visible messages stay as they are, without a cursor.
func (s *Slot) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.IsCut() {
		close(s.cut)
	}
}

// Redraw records that another message arrived in the chat. The platform then removes the reply's draft, so the draft
// must be shown again.
func (s *Slot) Redraw() {
	s.mu.Lock()
	s.erased = true
	s.mu.Unlock()
	notify(s.changed)
}

// takeRedraw reports whether Redraw was called since the last call of takeRedraw.
func (s *Slot) takeRedraw() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	erased := s.erased
	s.erased = false
	return erased
}

// IsCut reports whether Cut was called.
func (s *Slot) IsCut() bool {
	select {
	case <-s.cut:
		return true
	default:
		return false
	}
}

// Text returns the newest text of the reply.
func (s *Slot) Text() string {
	v, _ := s.load()
	return v.Text
}

// Ending returns how the reply ends, or the zero Ending while the reply's ending is undecided.
func (s *Slot) Ending() Ending {
	if _, e := s.load(); e != nil {
		return *e
	}
	return Ending{}
}

// load returns the newest view, and the ending of the reply or nil if it has none yet. load copies no text: a string
// returned by a strings.Builder stays valid while the builder grows.
func (s *Slot) load() (View, *Ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return View{
		Text: s.text.String(), Tokens: s.tokens, Since: s.since, Resets: s.resets, Status: s.status,
		Paused: s.paused == s.text.Len(),
	}, s.ending
}

// markVisible records that the first n bytes of the text are visible now.
func (s *Slot) markVisible(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Time{}
	if s.text.Len() > n {
		s.since = time.Now()
	}
}

// Asked returns the time when the status's question became visible. Asked returns zero if there is no question or the
// question is not visible yet.
func (s *Slot) Asked() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.askedSince
}

// markAsked records that a question became visible. The parameter at is the start of the call that showed the question.
// markAsked does nothing if the status asks another question now.
func (s *Slot) markAsked(question Status, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.askedSince.IsZero() && s.status.urgent() && slices.Equal(s.status.Lines, question.Lines) {
		s.askedSince = at
	}
}

// notify sends a signal on a channel of capacity 1 without blocking. Several signals may merge into one.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
