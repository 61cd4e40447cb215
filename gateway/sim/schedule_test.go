package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"telex/agent"
	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
)

// schedule contains all events of one simulation.
type schedule struct {
	kind      kind
	measure   measure
	style     style
	profile   chat.Profile
	hidden    bool // the platform enforces half of the limits that the profile declares
	names     bool // the platform's refusals name their scope
	real      int  // the real maximum text length; smaller than the declared one if hidden is true
	config    preview.Config
	busy      gateway.Busy
	queue     int
	perMinute int  // maximum number of turns that a person may begin per minute; 0: no limit
	pair      bool // strangers get a pairing code
	maxAge    time.Duration
	latency   time.Duration
	places    int // number of conversations
	answers   []answer
	fickle    bool // the model gives another answer when a turn runs again
	follows   bool // the bot answers messages without a mention, too, in threads in which it took part
	says      []say
	repeats   int // how many of the newest updates the platform delivers again to each new receiver
	faults    map[int]fault
	typing    map[int]fault // faults of typing indicators
	outages   []outage
	kills     []kill
	accidents []accident

	tools      bool // the model calls tools, and the real agent runs
	approval   time.Duration
	recount    bool // the ids that the model gives to tool calls start again in each answer
	stopButton bool
	reactions  []reaction

	replicas int // number of processes that share the store; 0: one process has its own store
	cuts     []cut
	clocks   []time.Duration // how far the clock of each process is ahead of the simulation's clock
	losses   map[int]bool    // the writes with which replicas coordinate and whose response gets lost, by number

	goesOn string // how people react to further questions when reactions contains no more entries
}

// style is the kind of text that the model writes.
type style string

// The styles. For plain and formed text, the visible text that the judge expects is written by hand.
const (
	plain  style = "words"
	formed style = "whole constructs"
	nasty  style = "fragments"
)

// piece is a piece of Markdown, with the text that people must see for it.
type piece struct{ src, shown string }

// answer is the model's answer to one question.
type answer struct {
	deltas []delta
	final  string // the text of the model's result
	shown  string // the visible text of final, without white space; empty in the style nasty
	fails  agent.StopReason
	slow   time.Duration // how long the model continues after its context has ended
	folds  bool          // with this answer, a summary replaces all earlier messages in the history
}

// delta is what the model sends after a pause.
type delta struct {
	text  string
	after time.Duration
	shown string        // the text that people must see for this delta, without white space
	calls []plannedCall // after this delta, the model makes these tool calls, and continues when they have results
	kind  string        // "", "reset" before the text, "tool", "reasoning", or "more" (asks for the newest messages)
}

// say is a message that a person writes.
type say struct {
	at    time.Duration
	place int
	user  chat.UserID
	kind  string // "text", "big" or the name of a command
	again bool   // the platform delivers the message again a second later
	more  bool   // the platform says that another piece of this message follows

	unnamed bool // the message does not mention the bot

	args    string        // the arguments of a command; if the message is a press, the id of the button
	decides agent.Verdict // the decision about a question, plus 1; 0: the message decides nothing
	about   string        // the id of the question that the message decides; empty: any open question
	always  bool          // the decision also applies to all later calls of the tool
}

// outage is a period in which the platform can't be reached.
type outage struct {
	from, until time.Duration
	hangs       bool // true: calls get no response; false: connections are refused
}

// accident is an event in a chat.
type accident struct {
	at time.Duration
	// kind is "delete" (the person deletes the newest message), "edit" (the person edits the newest question), "move" (the
	// chat gets a new id) or "full" (the store refuses new messages).
	kind  string
	place int
	lasts time.Duration
}

const stranger chat.UserID = "stranger"

// GoString leaves out most of the schedule, because the log of events describes it already and is printed too.
func (s schedule) GoString() string {
	return fmt.Sprintf("%s, %s, %s, limit %d (really %d, hidden %t), limits %+v, config %+v, tools %t (approval %v, reactions %+v), latency %v, busy %v, queue %d, %d turns a minute, faults %v, typing %v, kills %+v, outages %+v, accidents %+v",
		s.kind.name, s.measure, s.style, s.profile.TextLimit, s.real, s.hidden, s.profile.Limits, s.config, s.tools, s.approval, s.reactions, s.latency, s.busy, s.queue, s.perMinute, s.faults, s.typing, s.kills, s.outages, s.accidents)
}

// schedules returns a generator of schedules for one kind of platform. If the function more is not nil, it adds further
// random events.
func schedules(k kind, more func(*schedule, *rapid.T)) *rapid.Generator[schedule] {
	return rapid.Custom(func(t *rapid.T) schedule {
		s := draw(t, k)
		if more != nil {
			more(&s, t)
		}
		return s
	})
}

func draw(t *rapid.T, k kind) schedule {
	for range slices.IndexFunc(kinds(), func(o kind) bool { return o.name == k.name }) {
		rapid.Bool().Draw(t, "apart") // this draw makes the same seed give a different schedule for each kind of platform
	}
	s := schedule{
		kind: k, faults: map[int]fault{}, typing: map[int]fault{},
		measure: rapid.SampledFrom(measures()).Draw(t, "measure"),
		style:   rapid.SampledFrom([]style{plain, plain, formed, nasty}).Draw(t, "style"),
		latency: span(t, "latency", 1, 400),
		busy:    rapid.SampledFrom([]gateway.Busy{gateway.Interrupt, gateway.Queue, gateway.Steer}).Draw(t, "busy"),
		queue:   rapid.SampledFrom([]int{1, 3, 20}).Draw(t, "queue"),
		maxAge:  rapid.SampledFrom([]time.Duration{time.Minute, 15 * time.Minute, 24 * time.Hour}).Draw(t, "max age"),
		places:  rapid.IntRange(1, 4).Draw(t, "places"),
		repeats: rapid.IntRange(0, 2).Draw(t, "repeats"),
		fickle:  rapid.Bool().Draw(t, "fickle"),
		pair:    rapid.Bool().Draw(t, "pair"),
		tools:   rapid.Bool().Draw(t, "tools"),
	}
	if rapid.IntRange(0, 7).Draw(t, "bounded") == 0 {
		s.perMinute = rapid.IntRange(1, 3).Draw(t, "turns per minute")
	}
	s.config = preview.Config{
		Enabled:   rapid.IntRange(0, 9).Draw(t, "streaming") > 0,
		Interval:  span(t, "interval", 200, 3000),
		MinTokens: rapid.IntRange(0, 20).Draw(t, "min tokens"),
		Cursor:    rapid.SampledFrom([]string{" ▌", " ▌", ""}).Draw(t, "cursor"),
		Transport: k.transport,
	}
	s.profile = drawProfile(t, k)
	s.real = s.profile.TextLimit
	if rapid.IntRange(0, 3).Draw(t, "hidden") == 0 {
		s.hidden = true
		s.names = rapid.Bool().Draw(t, "names")
		if rapid.Bool().Draw(t, "short") {
			s.real = max(40, s.real/2)
		}
	}
	if k.caps.File {
		s.config.MaxParts = rapid.IntRange(1, 4).Draw(t, "parts")
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "answers") {
		s.answers = append(s.answers, drawAnswer(t, i, s.style, s.tools))
	}
	for range rapid.IntRange(1, 6).Draw(t, "says") {
		s.says = append(s.says, drawSay(t, s.places))
		if n := len(s.says) - 1; s.says[n].more {
			rest := s.says[n]
			rest.more, rest.again = false, false
			rest.at += span(t, "follows", 0, 1500)
			s.says = append(s.says, rest)
		}
	}
	s.drawTrouble(t)
	if s.tools {
		s.drawReactions(t)
	}
	if k.caps.Draft && !s.tools {
		s.drawStop(t)
	}
	s.drawThread(t)
	s.drawEdits(t)
	return s
}

// drawStop chooses at random whether drafts have a stop button, and when a person stops an answer with this button.
func (s *schedule) drawStop(t *rapid.T) {
	s.stopButton = rapid.Bool().Draw(t, "stop button")
	s.kind.caps.Buttons = s.stopButton
	if asked := s.says[rapid.IntRange(0, len(s.says)-1).Draw(t, "stopped")]; s.stopButton && asked.kind == "text" {
		s.says = append(s.says, say{at: asked.at + span(t, "stop at", 300, 8000), place: asked.place, user: "ann", kind: "stop"})
	}
}

// span returns a random duration of low to high milliseconds.
func span(t *rapid.T, label string, low, high int) time.Duration {
	return time.Duration(rapid.IntRange(low, high).Draw(t, label)) * time.Millisecond
}

func drawProfile(t *rapid.T, k kind) chat.Profile {
	p := chat.Profile{
		TextLimit:    rapid.OneOf(rapid.IntRange(60, 200), rapid.IntRange(60, 4096)).Draw(t, "limit"),
		EditInterval: time.Second,
		TypingEvery:  rapid.SampledFrom([]time.Duration{0, time.Second, 5 * time.Second}).Draw(t, "typing"),
	}
	if k.caps.Draft {
		p.DraftFor = 25 * time.Second
	}
	if k.caps.Stream {
		p.StreamFor = span(t, "stream for", 1000, 240_000)
	}
	switch {
	case k.keyed && k.caps.Find: // the key may expire, because the gateway can then search for the message
		p.KeyFor = span(t, "key for", 100, 120_000)
	case k.keyed:
		p.KeyFor = 24 * time.Hour
	}
	limit := func(scope chat.Scope, ops chat.Op, least, most int, window time.Duration) {
		if n := rapid.IntRange(0, most).Draw(t, scope.String()); n >= least {
			p.Limits = append(p.Limits, chat.Limit{
				Scope: scope, Ops: ops, Count: n, Window: window, Burst: rapid.IntRange(1, n).Draw(t, "burst"),
			})
		}
	}
	text := chat.OpAll &^ (chat.OpTyping | chat.OpFind)
	if k.probes { // the platform counts each probe as an edit
		text, p.LateFor = text|chat.OpFind, lateFor
	}
	limit(chat.ScopeChat, rapid.SampledFrom([]chat.Op{text, chat.OpAll, chat.OpSend | chat.OpFile}).Draw(t, "ops"), 2, 20, span(t, "window", 1000, 20_000))
	limit(chat.ScopeEndpoint, chat.OpAll, 4, 30, time.Second)
	if k.caps.Edit {
		limit(chat.ScopeMessage, chat.OpEdit, 2, 8, span(t, "edits", 1000, 10_000))
	}
	return p
}

func drawSay(t *rapid.T, places int) say {
	s := say{
		at:    span(t, "at", 0, 12_000),
		place: rapid.IntRange(0, places-1).Draw(t, "place"),
		kind:  rapid.SampledFrom(sayKinds()).Draw(t, "kind"),
		again: rapid.IntRange(0, 3).Draw(t, "again") == 0,
		user:  "ann",
	}
	if s.place == 1 || s.place == 2 { // places 1 and 2 are conversations of a group
		s.user = rapid.SampledFrom([]chat.UserID{"ann", "ben"}).Draw(t, "user")
	}
	if rapid.IntRange(0, 15).Draw(t, "stranger") == 0 {
		s.user = stranger
	}
	s.more = s.kind == "text" && rapid.IntRange(0, 7).Draw(t, "more") == 0
	return s
}

// thread is the number of the conversation that is a thread of a group.
const thread = 2

// drawThread chooses at random which questions in the thread do not mention the bot.
func (s *schedule) drawThread(t *rapid.T) {
	s.follows = rapid.Bool().Draw(t, "follows")
	all := s.places > thread && rapid.IntRange(0, 3).Draw(t, "all in the thread") == 0
	for i := range s.says {
		m := &s.says[i]
		if all {
			m.place = thread
		}
		if m.place == thread && m.kind == "text" && !m.more {
			m.unnamed = rapid.Bool().Draw(t, "unnamed")
		}
	}
}

// sayKinds returns the kinds of messages that people write. Kinds that people write more often occur several times.
func sayKinds() []string {
	kinds := slices.Repeat([]string{"text"}, 12)
	kinds = append(kinds, "stop", "stop", "retry", "retry", "retry", "undo", "undo", "new", "forget", "help")
	return append(kinds, "status", "usage", "model", "big")
}

// asks reports whether a message needs an answer from the model.
func (s say) asks() bool { return slices.Contains([]string{"text", "retry", "yes", "no"}, s.kind) }

// token returns a word that occurs only once in an answer. The word ends with the letter x, so that the judge can
// recognize whether people see the whole word.
func token(answer, n int) string { return fmt.Sprintf("a%dw%dx", answer, n) }

// pieces returns the pieces of Markdown of a style, each of which contains the word w.
func pieces(st style, w string) []piece {
	words := []piece{
		{w + " ", w},
		{w + " und ", w + "und"},
		{w + ".\n\n", w + "."},
		{w + " 👨‍👩‍👧 ", w + "👨‍👩‍👧"},
		{w + " é̂🇩🇪 ", w + "é̂🇩🇪"},
		{w + " " + strings.Repeat("long", 20) + " ", w + strings.Repeat("long", 20)},
		{w + " 世界。", w + "世界。"},
	}
	switch st {
	case formed:
		return append(words, []piece{
			{"**" + w + " bold** ", w + "bold"},
			{"*" + w + " it* ", w + "it"},
			{"`" + w + "` ", w},
			{"~~" + w + "~~ ", w},
			{"\n\n```go\n" + w + " := 1\nmore\n```\n\n", w + ":=1more"},
			{"\n\n- " + w + "\n- item\n\n", "•" + w + "•item"},
			{"\n\n# " + w + "\n\n", w},
		}...)
	case nasty:
		return append(words, []piece{
			{src: w + " **"},
			{src: w + "*"},
			{src: w + " _"},
			{src: w + " ~~"},
			{src: w + " `"},
			{src: w + "\n```go\n"},
			{src: w + "\n```\n"},
			{src: "- " + w + "\n"},
			{src: "  - " + w + "\n"},
			{src: "1. " + w + "\n"},
			{src: "> " + w + "\n"},
			{src: "# " + w + "\n"},
			{src: w + "\n---\n"},
			{src: w + "\n===\n"},
			{src: "\n| a | b |\n|---|---|\n| " + w + " | 2 |\n"},
			{src: "[" + w + "](https://example.org) "},
			{src: w + " [half](htt"},
			{src: w + " &amp; "},
			{src: w + ` \*`},
			{src: w + " <b>"},
			{src: w + " @everyone "},
			{src: "- [ ] " + w + "\n"},
		}...)
	default:
		return words
	}
}

// drawAnswer returns a random answer in which each word occurs once.
func drawAnswer(t *rapid.T, n int, st style, tools bool) answer {
	var a answer
	var src, shown strings.Builder
	speed := rapid.SampledFrom([]int{20, 200, 200, 2000}).Draw(t, "speed")
	count := rapid.OneOf(rapid.IntRange(1, 12), rapid.IntRange(1, 60)).Draw(t, "words")
	reset := 0
	if rapid.IntRange(0, 9).Draw(t, "resets") == 0 && !tools {
		reset = rapid.IntRange(1, count).Draw(t, "reset")
	}
	for i := range count {
		options := pieces(st, token(n, i))
		p := options[rapid.IntRange(0, len(options)-1).Draw(t, "piece")]
		d := delta{text: p.src, shown: p.shown, after: span(t, "after", 0, speed)}
		if i > 0 && i == reset {
			d.kind = "reset"
			src.Reset()
			shown.Reset()
		} else if i > 0 && rapid.IntRange(0, 19).Draw(t, "event") == 0 {
			d.kind = rapid.SampledFrom([]string{"tool", "reasoning", "more", "more"}).Draw(t, "other")
		}
		if rapid.IntRange(0, 99).Draw(t, "pause") == 0 {
			d.after = longPause
		}
		src.WriteString(p.src)
		shown.WriteString(p.shown)
		a.deltas = append(a.deltas, chop(t, d)...)
		if last := len(a.deltas) - 1; tools && i+1 < count && rapid.IntRange(0, 5).Draw(t, "stops") == 0 && len(a.stages()) <= mostStops {
			a.deltas[last].calls = drawCalls(t)
		}
	}
	if tools && rapid.IntRange(0, 3).Draw(t, "begins with calls") == 0 {
		a.deltas = slices.Insert(a.deltas, 0, delta{calls: drawCalls(t)})
	}
	a.final, a.shown = strings.TrimSpace(src.String()), shown.String()
	if st == nasty {
		a.shown = ""
	}
	switch rapid.IntRange(0, 9).Draw(t, "ending") {
	case 0:
		a.fails = rapid.SampledFrom([]agent.StopReason{agent.StopError, agent.StopSilence, agent.StopTimeLimit}).Draw(t, "fails")
	case 1: // F36: the final text is shorter than the preview
		a.final, a.shown = token(n, 0), token(n, 0)
	}
	if tools && a.fails != "" {
		a.fails = agent.StopError
	}
	a.slow = span(t, "slow", 0, 100)
	a.folds = rapid.IntRange(0, 9).Draw(t, "folds") == 0
	return a
}

// mostStops is the maximum number of times that the model stops for tool calls within one answer. Tool calls at the
// beginning of the answer don't count.
const mostStops = 3

// longPause is a pause of the model in which all its earlier text must become visible, even with the strictest limits.
const longPause = 2 * time.Minute

// calm reports whether the schedule contains no faults, kills, outages, accidents or hidden limits.
func (s schedule) calm() bool {
	return !s.hidden && len(s.faults)+len(s.typing)+len(s.kills)+len(s.outages)+len(s.accidents) == 0
}

// chop splits a delta in two at a random place, which may be inside a Markdown construct.
func chop(t *rapid.T, d delta) []delta {
	at := rapid.IntRange(0, len(d.text)).Draw(t, "chop")
	for at > 0 && at < len(d.text) && !utf8.RuneStart(d.text[at]) {
		at--
	}
	if at == 0 || at == len(d.text) {
		return []delta{d}
	}
	rest := delta{text: d.text[at:], after: min(d.after/2, time.Second)}
	d.text = d.text[:at]
	return []delta{d, rest}
}
