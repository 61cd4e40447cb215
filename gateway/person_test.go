package gateway_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/gateway/access"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/markup"
	"telex/internal/store/memory"
)

// latency is the duration of each call to the in-memory platform.
const latency = 50 * time.Millisecond

// shown is one message with all its versions, as a person saw it.
type shown struct {
	id       chat.MessageID
	to       chat.Target
	replyTo  chat.MessageID
	versions []string
	buttons  []chat.Action // the current buttons
}

func (s shown) text() string { return s.versions[len(s.versions)-1] }

// platform is an in-memory platform. The platform delivers the test's messages to the gateway, and keeps the messages
// that a person sees.
type platform struct {
	mu       sync.Mutex
	messages []*shown
	accept   func(context.Context, chat.Inbound) error
	runs     []error // the errors that the next calls of Run return
	started  int
	lasts    time.Duration // the duration of a call of Run that fails
	resumes  []string
	fail     error                               // the error of every send; nil: sends succeed
	refuses  func(op chat.Op, text string) error // chooses sends and edits to refuse; may be nil
	noID     bool
	cut      bool // calls have no effect, because the process is dead
	hangs    bool // calls block until their context ends
	panics   bool
	said     int
	sent     int

	sendPanics, editPanics int // how many of the next calls panic

	files    map[string][]byte // attachments by id
	fetched  []string
	commands []chat.CommandSpec // commands of the menu
	admins   []chat.UserID
	menuFail error
}

func newPlatform() *platform { return &platform{} }

func (p *platform) Capabilities() chat.Capabilities {
	return chat.Capabilities{Edit: true, Delete: true, Typing: true, Fetch: true, Menu: true, Buttons: true}
}

func (p *platform) Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error) {
	if err := p.pass(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fetched = append(p.fetched, a.ID)
	data, ok := p.files[a.ID]
	switch {
	case !ok:
		return nil, &chat.SendError{Kind: chat.Gone}
	case int64(len(data)) > limit:
		return nil, chat.ErrTooLarge
	}
	return data, nil
}

func (p *platform) SetCommands(_ context.Context, commands []chat.CommandSpec, admins []chat.UserID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.menuFail != nil {
		err := p.menuFail
		p.menuFail = nil
		return err
	}
	p.commands, p.admins = commands, admins
	return nil
}

func (p *platform) Profile(chat.Target) chat.Profile {
	return chat.Profile{TextLimit: 4096, EditInterval: time.Second, TypingEvery: 4 * time.Second}
}

func (p *platform) Dialect(chat.Target) markup.Dialect { return markup.Plain{} }

func (p *platform) Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	p.mu.Lock()
	p.started++
	p.resumes = append(p.resumes, from.Cursor)
	if len(p.runs) > 0 {
		err := p.runs[0]
		p.runs = p.runs[1:]
		lasts := p.lasts
		p.mu.Unlock()
		time.Sleep(lasts)
		return err
	}
	panics := p.panics
	p.panics = false
	p.accept = accept
	p.mu.Unlock()
	if panics {
		panic("the adapter broke")
	}
	<-ctx.Done()
	return ctx.Err()
}

func (p *platform) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	if err := p.pass(ctx); err != nil {
		return chat.Receipt{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sendPanics > 0 {
		p.sendPanics--
		panic("the send broke")
	}
	if p.fail != nil {
		return chat.Receipt{}, p.fail
	}
	if p.refuses != nil {
		if err := p.refuses(chat.OpSend, m.Text); err != nil {
			return chat.Receipt{}, err
		}
	}
	id := chat.MessageID(strconv.Itoa(1000 + p.sent))
	p.sent++
	p.messages = append(p.messages, &shown{id: id, to: to, replyTo: m.ReplyTo, versions: []string{m.Text}, buttons: m.Actions})
	if p.noID {
		id = ""
	}
	return chat.Receipt{Ref: chat.MessageRef{Target: to, ID: id}}, nil
}

func (p *platform) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	if err := p.pass(ctx); err != nil {
		return chat.Receipt{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.editPanics > 0 {
		p.editPanics--
		panic("the edit broke")
	}
	if p.refuses != nil {
		if err := p.refuses(chat.OpEdit, m.Text); err != nil {
			return chat.Receipt{}, err
		}
	}
	for _, s := range p.messages {
		if s.id == ref.ID {
			s.versions, s.buttons = append(s.versions, m.Text), m.Actions
			return chat.Receipt{Ref: ref}, nil
		}
	}
	return chat.Receipt{}, &chat.SendError{Kind: chat.Gone}
}

func (p *platform) Delete(ctx context.Context, ref chat.MessageRef) error {
	if err := p.pass(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages = slices.DeleteFunc(p.messages, func(s *shown) bool { return s.id == ref.ID })
	return nil
}

// Typing fails only while no call can reach the platform.
func (p *platform) Typing(ctx context.Context, _ chat.Target) error {
	if err := p.pass(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil && chat.AsSendError(p.fail).Kind == chat.Temporary {
		return p.fail
	}
	return nil
}

// pass waits as long as one call takes, and returns an error if the call fails.
func (p *platform) pass(ctx context.Context) error {
	p.mu.Lock()
	hangs, cut := p.hangs, p.cut
	p.mu.Unlock()
	if cut {
		return errDead
	}
	took := time.After(latency)
	if hangs {
		took = nil
	}
	select {
	case <-took:
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.cut {
			return errDead
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// say sends a person's message. say returns after the gateway has accepted the message.
func (p *platform) say(t *testing.T, in chat.Inbound) {
	t.Helper()
	p.mu.Lock()
	p.said++
	if in.ID == "" {
		in.ID = chat.MessageID(strconv.Itoa(p.said))
	}
	in.Resume = strconv.Itoa(p.said)
	accept := p.accept
	p.mu.Unlock()
	if err := accept(t.Context(), in); err != nil {
		t.Fatalf("accept: %v", err)
	}
}

// ask returns a text message that a person sends to the bot in a private chat.
func ask(text string) chat.Inbound {
	return chat.Inbound{To: chat.Target{Chat: "7"}, Sender: chat.Sender{ID: "7"}, Text: text, Addressed: true, At: time.Now()}
}

func command(name string) chat.Inbound {
	in := ask("/" + name)
	in.Kind, in.Command = chat.Command, name
	return in
}

// menu returns the commands that the platform offers.
func (p *platform) menu() []chat.CommandSpec {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.commands
}

// sees returns the current text of every message.
func (p *platform) sees() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, m := range p.messages {
		out = append(out, m.text())
	}
	return out
}

// script is a Runner whose answers are set by the test. The script sends one word every 100 ms.
type script struct {
	mu    sync.Mutex
	turns []agent.Turn
	ended []error // for each turn: why its context had ended when the turn ended; nil: the context had not ended
	// answers contains the answer to each user message. The default is "re: " and the message.
	answers     map[string]string
	stop        map[string]agent.StopReason // the reason with which the turn fails after the answer's words
	panics      bool
	hangs       bool                // the model runs until the turn is ended
	result      func(*agent.Result) // changes the result of a turn
	interrupted func(*agent.Result) // changes the result of an interrupted turn
	calls       int                 // number of model calls in a turn; before each but the first, new messages are read
}

func newScript() *script {
	return &script{answers: map[string]string{}, stop: map[string]agent.StopReason{}}
}

// wordTime is the time that the script takes for a word.
const wordTime = 100 * time.Millisecond

func (s *script) Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	question := t.Messages[len(t.Messages)-1].Text
	s.mu.Lock()
	s.turns = append(s.turns, t)
	answer, ok := s.answers[question]
	panics, hangs := s.panics, s.hangs
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return agent.Result{Partial: true, Stop: agent.StopCancelled}, context.Cause(ctx)
	}
	if !ok {
		answer = "re: " + question
	}
	if panics {
		panic("the agent broke")
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = append(s.ended, context.Cause(ctx))
	}()
	res := agent.Result{Model: "script"}
	for word := range strings.SplitAfterSeq(answer, " ") {
		select {
		case <-time.After(wordTime):
		case <-ctx.Done():
			res.Partial, res.Stop = true, agent.StopCancelled
			if s.interrupted != nil {
				s.interrupted(&res)
			}
			byModel(&res)
			return res, context.Cause(ctx)
		}
		res.Text += word
		emit(agent.Text{Delta: word})
	}
	if stop, bad := s.stop[question]; bad {
		res.Partial, res.Stop = true, stop
		return res, errors.New("the model broke")
	}
	res.Stop = agent.StopDone
	for range s.calls {
		for _, m := range t.More(ctx) {
			res.Append = append(res.Append, m)
			res.Text += " and " + m.Text
			emit(agent.Text{Delta: " and " + m.Text})
		}
	}
	res.Append = append(res.Append, agent.Message{Role: agent.Assistant, Text: res.Text})
	if s.result != nil {
		s.result(&res)
	}
	byModel(&res)
	return res, nil
}

// byModel attributes the whole usage of a result to the result's model.
func byModel(r *agent.Result) {
	r.UsageByModel = []agent.ModelUsage{{Model: r.Model, Usage: r.Usage, Calls: r.ModelCalls, Estimate: r.Estimate, EstimatedPrompt: r.EstimatedPrompt, EstimatedCompletion: r.EstimatedCompletion}}
}

// questions returns the last user message of every turn.
func (s *script) questions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, t := range s.turns {
		out = append(out, t.Messages[len(t.Messages)-1].Text)
	}
	return out
}

// house is a running gateway with one platform.
type house struct {
	*platform
	*script
	stop    func() error // ends the gateway's Run and returns the error of Run
	gateway *gateway.Gateway
	options gateway.Options // the options of the running gateway
}

// open starts a gateway inside a synctest bubble.
func open(t *testing.T, change func(*gateway.Options)) house {
	t.Helper()
	h := house{platform: newPlatform(), script: newScript()}
	return openWith(t, h, change)
}

func openWith(t *testing.T, h house, change func(*gateway.Options)) house {
	t.Helper()
	o := gateway.Options{
		Endpoints: []gateway.Endpoint{{
			ID: "tg", Platform: h.platform,
			Streaming: preview.Config{Enabled: true, MinTokens: 1, Cursor: "▌"},
		}},
		Runner: h.script, Store: memory.New(), Access: access.Rules{Open: true},
		MaxQueued: 3, MaxAge: 15 * time.Minute, Grace: 6 * time.Second, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	g, err := gateway.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx, func() {}) }()
	h.gateway, h.options = g, o
	h.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = h.stop() })
	synctest.Wait()
	return h
}

// later lets virtual time pass and waits until all goroutines are idle.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}
