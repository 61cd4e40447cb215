package conformance

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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

// The cases in the files engine*.go run the whole gateway with the adapter and the platform's stand-in. These cases
// check the promises D1 to D13 of docs/architecture.md under each platform's limits and failures.

// cursor is the cursor of all previews in the cases of the files engine*.go.
const cursor = " ▌"

// settleTime is a time after which most answers are complete. Cases with longer answers wait longer than settleTime.
const settleTime = 3 * time.Minute

// testGateway runs a gateway. A case can kill the gateway and start it again, which simulates a new process of telex.
// All processes of a testGateway use the same stored data.
type testGateway struct {
	*scene
	model    *model
	planner  *planner // if not nil, the gateway uses the real agent with this planner, instead of model
	config   preview.Config
	button   gateway.Button
	closed   bool // the gateway answers only people who have been granted access
	thoughts bool // the gateway shows a model's thoughts
	previews bool // the gateway allows link previews

	gateway *gateway.Gateway
	options gateway.Options
	ledger  *ledger
	cancel  context.CancelFunc
	done    chan error

	excused int // number of answers for which a duplicate message is allowed
}

// newGateway starts a gateway that uses the stored data of the case's earlier gateways. The gateway stops at the end of
// the case. The function change may change the gateway's settings before the start. The parameter change may be nil.
func (s *scene) newGateway(answers map[string]answer, change func(*testGateway)) *testGateway {
	s.Helper()
	if s.memory == nil {
		s.memory = memory.New()
	}
	h := &testGateway{
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

// begin starts a process of the gateway, which uses the adapter a.
func (h *testGateway) begin(a Adapter) {
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
	pass(2 * time.Second) // give the adapter time to connect, which may take several calls
	synctest.Wait()
}

// runner returns the Runner of a process: the real agent if the case has a planner, or else the model.
func (h *testGateway) runner(log *slog.Logger) gateway.Runner {
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

// end stops the process of the gateway at once, so running replies can't finish. If the process has already ended, end
// does nothing.
func (h *testGateway) end() {
	if h.cancel == nil {
		return
	}
	h.cancel()
	<-h.done //nolint:errcheck // a process that is killed always returns an error
	h.cancel = nil
}

// stopInOrder stops the process in the way an operator stops it, so that running replies have time to finish.
func (h *testGateway) stopInOrder() {
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

// kill ends the process as SIGKILL does: the process stores nothing more, and its running calls break off. After the
// process has ended, kill starts the next process of the gateway.
func (h *testGateway) kill() {
	h.Helper()
	h.stopHard()
	h.restart()
}

// stopHard ends the process as kill does, but starts no new process.
func (h *testGateway) stopHard() {
	h.ledger.mu.Lock()
	h.ledger.dead = true
	h.ledger.mu.Unlock()
	h.end()
}

// restart starts the next process of the gateway.
func (h *testGateway) restart() {
	h.Helper()
	h.adapter = h.connect(Proper)
	h.begin(h.adapter)
}

// ask makes a person send a question to the bot.
func (h *testGateway) ask(to chat.Target, question string) {
	h.Say(to, Saying{Text: question, Mention: to.Kind == chat.Group})
}

// askLast makes a person send a question just before the case ends the process. If the platform does not deliver
// unconfirmed messages again, askLast waits until telex has accepted the question.
func (h *testGateway) askLast(to chat.Target, question string) {
	h.Helper()
	before := len(h.ledger.acceptedMessages())
	h.ask(to, question)
	if _, nobody := h.World.(Reporter); nobody {
		h.until("that the question is accepted", func() bool { return len(h.ledger.acceptedMessages()) > before })
	}
}

// command makes a person use a command, in the form that the chat supports.
func (h *testGateway) command(to chat.Target, name string) {
	if h.adapter.Profile(to).NoCommands {
		h.ask(to, name)
		return
	}
	h.Say(to, Saying{Text: "/" + name, Command: true})
}

// until waits until a condition holds, for at most a minute.
func (h *testGateway) until(what string, holds func() bool) {
	h.Helper()
	for range 60 * 50 {
		if synctest.Wait(); holds() {
			return
		}
		pass(20 * time.Millisecond)
	}
	h.Fatalf("%s did not happen within a minute", what)
}

// seen waits until the newest version of any message in a chat contains the text. If the platform shows no previews,
// seen waits until the model is writing.
func (h *testGateway) seen(to chat.Target, text string) {
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

// wantReply checks that a chat contains exactly the messages in want. The text of each earlier version of a message
// must be a part of the text in want. An earlier version may contain a cursor only at its end.
func (h *testGateway) wantReply(to chat.Target, want ...string) {
	h.Helper()
	h.wantShown(to, want...)
	h.wantGrowth(to, strings.Join(want, "\n"))
	h.wantValid(to)
}

// wantSince checks that a chat contains exactly one message after its first messages, and that this message has the
// given text. The parameter first is the number of messages to skip. The parameter what describes the situation in the
// error message.
func (h *testGateway) wantSince(what string, to chat.Target, first int, text string) {
	h.Helper()
	if got := h.Shown(to)[first:]; !slices.Equal(got, []string{text}) {
		h.Errorf("%s in %+v: shown are %q, want %q once", what, to, got, text)
	}
}

// wantGrowth checks that the text of every version of each message in a chat is a contiguous part of final.
func (h *testGateway) wantGrowth(to chat.Target, final string) {
	h.Helper()
	for _, v := range h.Versions(to) {
		text := strings.TrimSuffix(v.Text, strings.TrimSpace(cursor))
		if strings.Contains(text, strings.TrimSpace(cursor)) {
			h.Errorf("a cursor stands in the middle of %q", v.Text)
		}
		if !strings.Contains(letters(final), letters(text)) {
			h.Errorf("the screen showed %q, which is not a part of %q", v.Text, final)
		}
	}
}

// letters returns only the letters and digits of a text.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// wantGood checks that the bot has violated no rule of the platform, and that the platform has refused no call because
// of a rate limit.
func (h *testGateway) wantGood() {
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

// prose returns a text of numbered words without formatting. The text that prose returns has at least n characters.
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

// both returns the private chat and the group, or only the private chat if the platform has no groups.
func (s *scene) both() []chat.Target {
	if s.Group() == (chat.Target{}) {
		return []chat.Target{s.Private()}
	}
	return []chat.Target{s.Private(), s.Group()}
}

// places returns n private chats in addition to the default private chat. If nobody can write on the platform, places
// returns the platform's only chat n times.
func (s *scene) places(n int) []chat.Target {
	if _, nobody := s.World.(Reporter); nobody {
		return slices.Repeat([]chat.Target{s.Private()}, n)
	}
	return s.Crowd(n)
}

// people runs a case on each platform where people write messages.
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

// inGroup runs a case on each platform that has groups.
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

// edited runs a case on each platform that can show a growing answer.
func edited(run func(*scene)) func(*scene) {
	return with((*scene).editor, func(s *scene, _ preview.Editor) {
		s.Helper()
		run(s)
	})
}

// said returns the text of the Saying, the simulated message, from which the received message comes.
func (s *scene) said(in chat.Inbound) string {
	if r, ok := s.World.(Reporter); ok {
		return r.Said(in.Text)
	}
	return in.Text
}

// transports returns the ways in which a chat can show previews, by name.
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

// wantJoined checks that the messages in a chat, joined by spaces, equal want.
func (s *scene) wantJoined(to chat.Target, want string) {
	s.Helper()
	if got := s.joined(to); got != want {
		s.Errorf("in %+v is shown %.300q…, want %.300q…", to, got, want)
	}
}

// joined returns the texts of the messages in a chat, joined by spaces.
func (s *scene) joined(to chat.Target) string { return strings.Join(s.Shown(to), " ") }
