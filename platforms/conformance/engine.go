package conformance

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"
	"unicode"

	"telex/agent"
	"telex/gateway"
	"telex/gateway/access"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// The cases of the engine run the whole gateway over the adapter and its stand-in: what a person sees must be
// what docs/architecture.md promises (D1 to D13), with each platform's own limits and failures.

// cursor stands at the end of every preview of these cases.
const cursor = " ▌"

// lasting is how long everything that is under way takes at most, but where a case says otherwise.
const lasting = 3 * time.Minute

// answer is what a model writes and how fast.
type answer struct {
	text string
	each time.Duration // between two pieces; 0: 30 ms
	tail time.Duration // silence between the last piece and the end
	fail error         // instead of an end
}

// flowing is an answer that takes about 40 s, however long its text is.
func flowing(text string) answer {
	return answer{text: text, each: min(20*time.Millisecond, 40*time.Second*pieceSize/time.Duration(len(text)))}
}

// pieceSize is how many characters a model writes at once: pieces cut words, marks and graphemes.
const pieceSize = 3

// model is a Runner that answers by what it is asked.
type model struct {
	mu      sync.Mutex
	answers map[string]answer // by a word of the question
	ended   map[string]time.Time
	runs    map[string]int
	running int // answers that are being written
}

// Run implements gateway.Runner. It writes the text in pieces.
func (m *model) Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	asked := t.Messages[len(t.Messages)-1].Text
	word, a := m.begin(asked[strings.LastIndex(asked, "\n")+1:]) // what the question refers to stands above it
	defer m.end(word)
	r := agent.Result{Model: "scripted", Stop: agent.StopDone}
	cut := func() (agent.Result, error) {
		r.Partial, r.Stop = true, agent.StopCancelled
		return r, &agent.Error{Reason: r.Stop, Err: context.Cause(ctx)}
	}
	wait := func(d time.Duration) bool {
		select {
		case <-time.After(d): //nolint:forbidigo // a model writes in its own time
			return true
		case <-ctx.Done():
			return false
		}
	}
	for piece := range slices.Chunk([]rune(a.text), pieceSize) {
		if !wait(a.each) {
			return cut()
		}
		r.Text += string(piece)
		emit(agent.Text{Delta: string(piece)})
	}
	if !wait(a.tail) {
		return cut()
	}
	if a.fail != nil {
		r.Partial, r.Stop = true, agent.StopError
		return r, &agent.Error{Reason: r.Stop, Err: a.fail}
	}
	r.Append = []agent.Message{{Role: agent.Assistant, Text: r.Text}}
	return r, nil
}

// begin finds the answer to a question.
func (m *model) begin(question string) (string, answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running++
	for word, a := range m.answers {
		if slices.ContainsFunc(strings.Fields(question), func(w string) bool { return strings.Trim(w, ".,") == word }) {
			m.runs[word]++
			if a.each == 0 {
				a.each = 30 * time.Millisecond
			}
			return word, a
		}
	}
	return "", answer{text: "I was asked: " + question, each: time.Millisecond}
}

func (m *model) end(word string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running--
	m.ended[word] = time.Now()
}

// writes reports whether an answer is being written.
func (m *model) writes() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running > 0
}

// of returns when the answer to a question ended last, and how often it was begun.
func (m *model) of(word string) (time.Time, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended[word], m.runs[word]
}

// house is the gateway in its process, and what outlives it.
type house struct {
	*scene
	model    *model
	planner  *planner // answers in place of model, where it has one
	config   preview.Config
	button   gateway.Button
	closed   bool // nobody is let in
	thoughts bool // of a model are shown
	previews bool // of addresses that the asker typed are shown

	gateway *gateway.Gateway
	options gateway.Options
	ledger  *ledger
	cancel  context.CancelFunc
	done    chan error

	excused int // answers beside which one more message stands
}

// house returns one that runs until the case ends, on what the ones before it stored. change may be nil.
func (s *scene) house(answers map[string]answer, change func(*house)) *house {
	s.Helper()
	if s.memory == nil {
		s.memory = memory.New()
	}
	h := &house{
		scene: s, button: gateway.ButtonOff,
		model:  &model{answers: answers, ended: map[string]time.Time{}, runs: map[string]int{}},
		config: preview.Config{Enabled: true, MinTokens: 3, Cursor: cursor, MaxParts: 4},
	}
	if change != nil {
		change(h)
	}
	h.begin(s.adapter)
	s.Cleanup(func() { h.end() })
	return h
}

// begin starts a process with an adapter.
func (h *house) begin(a Adapter) {
	h.Helper()
	h.ledger = &ledger{Store: h.memory}
	log := slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	h.options = gateway.Options{
		Endpoints: []gateway.Endpoint{{ID: "bot", Platform: a, Streaming: h.config, StopButton: h.button, LinkPreviews: h.previews}},
		Runner:    h.runner(log), Store: h.ledger, Access: access.Rules{Open: !h.closed}, Busy: gateway.Queue, MaxQueued: 20,
		MaxAge: 24 * time.Hour, ShowReasoning: h.thoughts, Log: log,
	}
	g, err := gateway.New(h.options)
	if err != nil {
		h.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.Context()))
	h.gateway, h.cancel, h.done = g, cancel, make(chan error, 1)
	go func() { h.done <- g.Run(ctx, func() {}) }()
	pass(2 * time.Second) // a connection may take some calls
	synctest.Wait()
}

// runner returns what answers in a process.
func (h *house) runner(log *slog.Logger) gateway.Runner {
	h.Helper()
	if h.planner == nil {
		return h.model
	}
	a, err := agent.New(agent.Options{Models: []agent.ModelOptions{{Model: h.planner}}, Tools: h.planner, Log: log})
	if err != nil {
		h.Fatal(err)
	}
	return a
}

// end stops the process, without grace. It may be called again.
func (h *house) end() {
	if h.cancel == nil {
		return
	}
	h.cancel()
	<-h.done //nolint:errcheck // a process that was killed always fails
	h.cancel = nil
}

// stopInOrder ends the process as an operator does, who gives it time.
func (h *house) stopInOrder() {
	h.Helper()
	h.options.Grace = 30 * time.Second
	if err := h.gateway.Reload(h.Context(), h.options); err != nil {
		h.Errorf("reload: %v", err)
	}
	h.cancel()
	if err := <-h.done; err != nil {
		h.Errorf("the gateway: %v", err)
	}
	h.cancel = nil
}

// kill ends the process as a signal does: nothing of it is stored from now on, and its calls are cut off. The
// next one begins at once.
func (h *house) kill() {
	h.Helper()
	h.die()
	h.rise()
}

// die is the first half of kill: nobody is there after it.
func (h *house) die() {
	h.ledger.mu.Lock()
	h.ledger.dead = true
	h.ledger.mu.Unlock()
	h.end()
}

// rise begins the next process.
func (h *house) rise() {
	h.Helper()
	h.adapter = h.connect(Proper)
	h.begin(h.adapter)
}

// ask lets a person ask, who means the bot.
func (h *house) ask(to chat.Target, question string) {
	h.Say(to, Saying{Text: question, Mention: to.Kind == chat.Group})
}

// askLast asks, and returns once the question is accepted where nothing that was not comes again.
func (h *house) askLast(to chat.Target, question string) {
	h.Helper()
	before := len(h.ledger.took())
	h.ask(to, question)
	if _, nobody := h.World.(Reporter); nobody {
		h.until("that the question is accepted", func() bool { return len(h.ledger.took()) > before })
	}
}

// command lets a person give a command, in whatever way the place has.
func (h *house) command(to chat.Target, name string) {
	if h.adapter.Profile(to).NoCommands {
		h.ask(to, name)
		return
	}
	h.Say(to, Saying{Text: "/" + name, Command: true})
}

// until lets time pass until something holds, for a minute at most.
func (h *house) until(what string, holds func() bool) {
	h.Helper()
	for range 60 * 50 {
		if synctest.Wait(); holds() {
			return
		}
		pass(20 * time.Millisecond)
	}
	h.Fatalf("%s did not happen within a minute", what)
}

// seen waits until the newest version in a place has something in it. Where nothing can be seen of an answer before its end, it
// waits until a model writes.
func (h *house) seen(to chat.Target, text string) {
	h.Helper()
	if !h.adapter.Capabilities().Edit {
		h.until("that a model writes", h.model.writes)
		pass(time.Second)
		return
	}
	h.until(fmt.Sprintf("that %q is shown", text), func() bool {
		list := h.Versions(to)
		return len(list) > 0 && strings.Contains(list[len(list)-1].Text, text)
	})
}

// wantReply checks that exactly these messages stand in a place, and that whatever was on display on the way
// to them was a beginning of them, whole, and with the cursor at its end or nowhere.
func (h *house) wantReply(to chat.Target, want ...string) {
	h.Helper()
	h.wantShown(to, want...)
	h.wantGrowth(to, strings.Join(want, "\n"))
	h.wantValid(to)
}

// wantSince checks that beyond the first messages in a place stands one, with a text; what says what came before.
func (h *house) wantSince(what string, to chat.Target, first int, text string) {
	h.Helper()
	if got := h.Shown(to)[first:]; !slices.Equal(got, []string{text}) {
		h.Errorf("%s in %+v: shown are %q, want %q once", what, to, got, text)
	}
}

// wantGrowth checks that every message ever shown in a place is made of text that final has in one piece.
func (h *house) wantGrowth(to chat.Target, final string) {
	h.Helper()
	for _, v := range h.Versions(to) {
		text := strings.TrimSuffix(v.Text, strings.TrimSpace(cursor))
		if strings.Contains(text, strings.TrimSpace(cursor)) {
			h.Errorf("a cursor stands in the middle of %q", v.Text)
		}
		if !strings.Contains(letters(final), letters(text)) {
			h.Errorf("shown was %q, which is no piece of %q", v.Text, final)
		}
	}
}

// letters are what is left of a text without marks and white space.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// wantGood checks that the platform had nothing to complain of.
func (h *house) wantGood() {
	h.Helper()
	for i, v := range h.Violations() {
		if i < 5 {
			h.Errorf("violation: %s", v)
		}
	}
	if got := h.Refusals(); got != 0 {
		h.Errorf("%d calls were answered 429, want none", got)
	}
}

// prose returns at least n characters of numbered words, without any formatting.
func prose(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "word%d", i)
	}
	return b.String()
}

// both are the two places, or the only one.
func (s *scene) both() []chat.Target {
	if s.Group() == (chat.Target{}) {
		return []chat.Target{s.Private()}
	}
	return []chat.Target{s.Private(), s.Group()}
}

// places returns n more private chats, or the only place n times.
func (s *scene) places(n int) []chat.Target {
	if _, nobody := s.World.(Reporter); nobody {
		return slices.Repeat([]chat.Target{s.Private()}, n)
	}
	return s.Crowd(n)
}

// people is a case for platforms on which people write, alone or in groups.
func people(run func(*scene)) func(*scene) {
	return func(s *scene) {
		s.Helper()
		if _, nobody := s.World.(Reporter); nobody {
			s.lacks = "People"
			return
		}
		run(s)
	}
}

// inGroup is a case for platforms with groups.
func inGroup(run func(*scene)) func(*scene) {
	return func(s *scene) {
		s.Helper()
		if s.Group() == (chat.Target{}) {
			s.lacks = "Groups"
			return
		}
		run(s)
	}
}

// edited is a case in which something must be seen of an answer before its end.
func edited(run func(*scene)) func(*scene) {
	return with((*scene).editor, func(s *scene, _ preview.Editor) {
		s.Helper()
		run(s)
	})
}

// said returns what a message says that Say brought.
func (s *scene) said(in chat.Inbound) string {
	if r, ok := s.World.(Reporter); ok {
		return r.Said(in.Text)
	}
	return in.Text
}

// transports returns how previews can reach a place.
func (s *scene) transports(to chat.Target) map[string]preview.Transport {
	list := map[string]preview.Transport{"edits": preview.Edit}
	p := s.adapter.Profile(to)
	if p.DraftFor > 0 {
		list["drafts"] = preview.Draft
	}
	if p.StreamFor > 0 {
		list["streams"] = preview.Native
	}
	return list
}

// wantJoined checks that the messages in a place are a text, as it was cut at spaces.
func (s *scene) wantJoined(to chat.Target, want string) {
	s.Helper()
	if got := s.joined(to); got != want {
		s.Errorf("in %+v is shown %.300q…, want %.300q…", to, got, want)
	}
}

// joined returns the texts of the messages in a place as one, as they were cut at spaces.
func (s *scene) joined(to chat.Target) string { return strings.Join(s.Shown(to), " ") }
