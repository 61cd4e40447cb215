package preview

import (
	"slices"
	"strings"
	"sync"
	"time"

	"telex/internal/chat"
)

// View is everything that is known of a reply now.
type View struct {
	Text   string    // cumulative
	Tokens int       // estimate of what Text took
	Since  time.Time // when the oldest text came that is not visible yet; zero without any
	Resets int       // how often the text started over
	Status Status    // what the turn does beside
	Paused bool      // the model does something else now: what follows Text is a new paragraph
}

// Ending says how a reply ends.
type Ending struct {
	Text string // the final, as Markdown
	Cut  bool   // Text broke off: what it leaves open is closed
	Note string // a plain line that stands below Text, such as why it broke off
	Keep bool   // interrupted: what is visible stays as it is, without the cursor; all else is ignored

	// Stopped says that what is visible is not all that there would be: a mark below it says so. It comes with Keep.
	Stopped bool

	// Stand leaves what is visible as it is, a question and its buttons too: another process goes on with the reply.
	// It comes with Keep.
	Stand bool

	// At is when the reply was decided to end like this; the zero time means when its process learns of it. The time in
	// which a final is tried counts from here, whichever process tries it.
	At time.Time

	// Files follow the text, in order, each as a message of its own. Nobody changes their content any more. What
	// can't be sent is named below the text instead, and one that the platform refuses is left out.
	Files []chat.File
}

// Slot is where a turn puts its newest view and where the one reader of the reply takes it:
// the newest replaces what was not read yet. Writers never block.
type Slot struct {
	mu      sync.Mutex
	text    *strings.Builder
	tokens  int
	resets  int
	since   time.Time
	status  Status
	paused  int       // length of the text when the model went on to a tool
	asked   time.Time // since when people see what status asks them; zero: they don't
	ending  *Ending
	changed chan struct{} // capacity 1: that something changed, not how often
	ended   chan struct{} // closed by Finish
	claimed bool          // by Decide: no other ending counts
	cut     chan struct{} // closed by Cut
	erased  bool          // by Redraw: a draft vanished
	urged   chan struct{} // capacity 1: that somebody is asked, which waits for no interval
	visible bool          // a message of the reply stands
	shown   string        // Markdown of the last preview that a person saw
	first   precedence
}

// NewSlot returns an empty slot.
func NewSlot() *Slot {
	return &Slot{
		text: new(strings.Builder), changed: make(chan struct{}, 1), urged: make(chan struct{}, 1),
		ended: make(chan struct{}), cut: make(chan struct{}), first: precedence{now: make(chan struct{}, 1)},
	}
}

// Append adds a delta that took about so many tokens.
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

// Reset voids all text: the reply starts over.
func (s *Slot) Reset() {
	s.mu.Lock()
	s.text, s.tokens, s.paused = new(strings.Builder), 0, 0
	s.resets++
	s.mu.Unlock()
	notify(s.changed)
}

// Finish ends the reply. The first call counts; nothing changes after it.
func (s *Slot) Finish(e Ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.claimed {
		s.finish(e)
	}
}

// Decide ends the reply once store has run. No other ending counts from its start on, and
// store does not run when there is one already.
func (s *Slot) Decide(e Ending, store func()) {
	s.mu.Lock()
	open := s.ending == nil && !s.claimed
	s.claimed = s.claimed || open
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

// Cut gives up what an ending still wants: what is visible stays as it is, without a cursor.
func (s *Slot) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.IsCut() {
		close(s.cut)
	}
}

// Redraw says that another message came to stand in the chat. A draft vanishes with that, and is shown again.
func (s *Slot) Redraw() {
	s.mu.Lock()
	s.erased = true
	s.mu.Unlock()
	notify(s.changed)
}

// redrawn says whether Redraw was called since it was asked last.
func (s *Slot) redrawn() bool {
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

// Text returns the newest text.
func (s *Slot) Text() string {
	v, _ := s.load()
	return v.Text
}

// Ending returns how the reply ends; the zero Ending while that is open.
func (s *Slot) Ending() Ending {
	if _, e := s.load(); e != nil {
		return *e
	}
	return Ending{}
}

// load returns the newest view, and the ending once there is one. It copies nothing: what a
// strings.Builder returned stays valid while it grows.
func (s *Slot) load() (View, *Ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return View{
		Text: s.text.String(), Tokens: s.tokens, Since: s.since, Resets: s.resets, Status: s.status,
		Paused: s.paused == s.text.Len(),
	}, s.ending
}

// seen says that all text up to n bytes is visible now.
func (s *Slot) seen(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Time{}
	if s.text.Len() > n {
		s.since = time.Now()
	}
}

// Asked returns since when people see what the status asks them; zero where nothing is asked, or not visible yet.
func (s *Slot) Asked() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// showed says that people see a question, by a call that began at a time. Another one may have taken its place.
func (s *Slot) showed(question Status, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked.IsZero() && s.status.urgent() && slices.Equal(s.status.Lines, question.Lines) {
		s.asked = at
	}
}

// notify says that something happened, not how often, on a channel of capacity 1.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
