package slack_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/platforms/slack"
	"telex/standin/fault"
	"telex/standin/memnet"
	standin "telex/standin/slack"
)

var (
	_ gateway.Platform = (*slack.Bot)(nil)
	_ preview.Editor   = (*slack.Bot)(nil)
	_ preview.Deleter  = (*slack.Bot)(nil)
	_ preview.Typer    = (*slack.Bot)(nil)
	_ preview.Filer    = (*slack.Bot)(nil)
	_ preview.Streamer = (*slack.Bot)(nil)
	_ preview.Finder   = (*slack.Bot)(nil)
	_ gateway.Fetcher  = (*slack.Bot)(nil)
	_ gateway.Pane     = (*slack.Bot)(nil)
	_ gateway.Idler    = (*slack.Bot)(nil)

	_ conformance.Threader    = (*world)(nil)
	_ conformance.Presser     = (*world)(nil)
	_ conformance.StreamWorld = (*world)(nil)
	_ conformance.Repeater    = (*world)(nil)
)

const (
	dm      = "D1001"
	channel = "C1"
	person  = "U1001"
	other   = "U2002"
	mention = "<@" + standin.BotUser + ">"

	wrongBotToken = "xoxb-wrong-token"
	wrongAppToken = "xapp-wrong-token"
	wrongSecret   = "wrong-signing-secret"
)

// world is Slack's stand-in on an in-memory network.
type world struct {
	t       *testing.T
	server  *standin.Server
	net     *memnet.Listener
	events  *memoryListener // the listener for Slack's HTTP requests; nil: the bot uses Socket Mode
	private chat.Target
	group   chat.Target
}

// memoryListener is an in-memory network address. A new listener can replace the previous listener at the address, as
// after a restart.
type memoryListener struct {
	mu sync.Mutex
	l  *memnet.Listener
}

func (d *memoryListener) listen(context.Context) (net.Listener, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.l = memnet.Listen()
	return d.l, nil
}

func (d *memoryListener) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	l := d.l
	d.mu.Unlock()
	if l == nil {
		return memnet.Refuse(ctx, network, address)
	}
	c, err := l.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return garbling{c}, nil
}

// socketWorld returns a world whose bot receives events through Socket Mode. The private chat of a socketWorld is a
// direct message outside of threads.
func socketWorld(t *testing.T) conformance.World { return newWorld(t, standin.Options{}, false) }

// eventsWorld returns a world whose bot receives events over HTTP. The private chat of an eventsWorld is a thread of an
// assistant. The stand-in does not report that the thread was opened, so the bot does not send a greeting to the
// thread.
func eventsWorld(t *testing.T) conformance.World {
	ungreeted := slices.DeleteFunc(standin.AllEvents(), func(e string) bool { return e == "assistant_thread_started" })
	w := newWorld(t, standin.Options{Subscriptions: ungreeted}, true)
	w.private.Thread = chat.ThreadID(w.server.OpenAssistant(person))
	return w
}

func newWorld(t *testing.T, o standin.Options, byHTTP bool) *world {
	w := &world{t: t, private: chat.Target{Chat: dm}}
	if o.Limits.Tier1 == 0 {
		o.Limits = standin.NoLimits()
	}
	o.Latency = 20 * time.Millisecond
	if byHTTP {
		w.events = &memoryListener{}
		o.RequestURL, o.Dial = "http://telex.test/slack", w.events.dial
	}
	w.server = standin.New(o)
	w.net = memnet.Serve(t, w.server)
	w.server.SetChannel(standin.Channel{ID: dm, User: person})
	w.server.SetChannel(standin.Channel{ID: channel, BotOut: true}) // the bot must not get the next message
	root := w.server.Say(standin.Incoming{Channel: channel, User: other, Text: "good morning"})
	w.server.SetChannel(standin.Channel{ID: channel, Name: "general"})
	w.group = chat.Target{Chat: channel, Thread: chat.ThreadID(root), Kind: chat.Group}
	return w
}

func (w *world) Connect(log *slog.Logger, how conformance.Connection) conformance.Adapter {
	w.t.Helper()
	return w.bot(log, how)
}

// The method bot is like Connect, but returns a *slack.Bot.
func (w *world) bot(log *slog.Logger, how conformance.Connection) *slack.Bot {
	w.t.Helper()
	o := slack.Options{BotToken: w.server.BotToken(), APIBase: "http://slack.test/api/", Log: log}
	if w.events == nil {
		o.AppToken = w.server.AppToken()
	} else {
		o.SigningSecret, o.Listener = w.server.SigningSecret(), w.events.listen
	}
	o.HTTP = &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := w.net.Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return garbling{c}, nil
	}}
	switch how {
	case conformance.WrongSecret:
		o.BotToken = wrongBotToken
		if o.AppToken != "" {
			o.AppToken = wrongAppToken
		} else {
			o.SigningSecret = wrongSecret
		}
	case conformance.Unreachable:
		o.HTTP = &http.Transport{DialContext: memnet.Refuse}
	case conformance.Proper:
	}
	bot := slack.New(o)
	w.t.Cleanup(bot.Close)
	return bot
}

func (w *world) Secrets() []string {
	return []string{
		w.server.BotToken(), w.server.AppToken(), w.server.SigningSecret(), wrongBotToken, wrongAppToken, wrongSecret,
		"ticket=", "/upload/", "/respond/",
	}
}

func (w *world) Private() chat.Target { return w.private }

func (w *world) Group() chat.Target { return w.group }

func (w *world) Channel() chat.Target { return chat.Target{Chat: channel, Kind: chat.Group} }

func (w *world) Crowd(n int) []chat.Target {
	list := make([]chat.Target, n)
	for i := range list {
		list[i] = chat.Target{Chat: chat.ChatID(fmt.Sprintf("D%d", 3001+i))}
		w.server.SetChannel(standin.Channel{ID: string(list[i].Chat), User: writer(list[i])})
	}
	return list
}

// messages returns the bot's messages in a chat, including deleted messages, but without messages that only one
// person sees.
func (w *world) messages(to chat.Target) []standin.Message {
	return slices.DeleteFunc(w.server.History(string(to.Chat)), func(m standin.Message) bool {
		return !m.FromBot || m.EphemeralTo != "" || m.Subtype == "assistant_app_thread" || m.ThreadTS != string(to.Thread)
	})
}

// standing is like messages, but without deleted messages.
func (w *world) standing(to chat.Target) []standin.Message {
	return slices.DeleteFunc(w.messages(to), func(m standin.Message) bool { return !m.Alive() })
}

func (w *world) Shown(to chat.Target) []string {
	var texts []string
	for _, m := range w.standing(to) {
		texts = append(texts, m.Shown())
	}
	return texts
}

func (w *world) Files(to chat.Target) []conformance.File {
	var files []conformance.File
	for _, m := range w.standing(to) {
		for _, f := range m.Files {
			files = append(files, conformance.File{Name: f.Title, Content: f.Content, Caption: m.Shown()})
		}
	}
	return files
}

func (w *world) Drafts(chat.Target) []string { return nil }

func (w *world) Calls(op chat.Op) int {
	n := 0
	for _, c := range w.server.Calls() {
		if slices.Contains(methods(op), c.Method) {
			n++
		}
	}
	return n
}

func (w *world) Break(op chat.Op, f conformance.Fault) {
	w.server.Fault(once(strings.Join(methods(op), "|"), f.OnCall()))
}

func (w *world) BreakFetch(f conformance.Fault) { w.server.Fault(once("file", f.OnFetch())) }

// once returns a fault that affects one call.
func once(method string, e conformance.Effect) standin.Fault {
	f := standin.Fault{Method: method, Times: 1, Action: e.Action, Status: e.Status, RetryAfter: e.RetryAfter.Seconds()}
	switch e.Status { // for these errors, Slack's responses have the status 200
	case http.StatusForbidden:
		f.Action, f.Error = fault.Error, "channel_not_found"
	case http.StatusUnauthorized:
		f.Action, f.Error = fault.Error, "invalid_auth"
	}
	return f
}

func (w *world) Enforce(r conformance.Rates) {
	hidden := standin.NoLimits()
	if p := standin.PublishedLimits(); r == conformance.Halved {
		hidden = standin.Limits{
			Tier1: p.Tier1, Tier2: p.Tier2 / 2, Tier3: p.Tier3 / 2, Tier4: p.Tier4 / 2, PostPerSecond: p.PostPerSecond / 2,
			PostBurst: p.PostBurst, PostPerMinute: p.PostPerMinute / 2, StatusPerMinute: p.StatusPerMinute / 2,
		}
	}
	w.server.SetLimits(standin.PublishedLimits(), hidden)
}

func (w *world) Violations() []string {
	var list []string
	for _, v := range w.server.Stats().Violations.Details {
		list = append(list, fmt.Sprintf("%s in %s: %s: %s", v.Method, v.Channel, v.Kind, v.Detail))
	}
	return list
}

func (w *world) Refusals() int {
	st := w.server.Stats()
	return st.TooManyRequests - st.Forced
}

func (w *world) Versions(to chat.Target) []conformance.Version {
	var list []conformance.Version
	for _, m := range w.messages(to) {
		for _, v := range m.Versions {
			list = append(list, conformance.Version{At: v.At, Message: m.TS, Text: v.Shown})
		}
	}
	return conformance.InOrder(list)
}

func (w *world) Pings(to chat.Target) []string {
	var list []string
	for _, m := range w.messages(to) {
		for _, v := range m.Versions {
			list = append(list, v.Mentions...)
		}
	}
	return list
}

func (w *world) Opened(to chat.Target) []string {
	var list []string
	for _, m := range w.messages(to) {
		for _, v := range m.Versions {
			list = append(list, v.Opened...)
		}
	}
	return list
}

func (w *world) Sample() string { return sample }

func (w *world) Buttons(ref chat.MessageRef) []chat.Action {
	var list []chat.Action
	for _, b := range w.message(ref).Last().Buttons {
		list = append(list, chat.Action{ID: b.ActionID, Label: b.Text})
	}
	return list
}

func (w *world) Press(ref chat.MessageRef, action string) {
	w.t.Helper()
	w.press(ref, action, writer(ref.Target))
}

func (w *world) PressAside(ref chat.MessageRef, action string) {
	w.t.Helper()
	w.press(ref, action, other)
}

func (w *world) press(ref chat.MessageRef, action, who string) {
	w.t.Helper()
	if w.server.Press(string(ref.Target.Chat), who, ts(ref.ID), action) == 0 {
		w.t.Fatalf("there is no button %q below %+v", action, ref)
	}
}

func (w *world) Unanswered() int {
	n := 0
	for _, c := range w.server.Commands() {
		if c.Action != "" && c.Acked.IsZero() {
			n++
		}
	}
	return n
}

func (w *world) Streaming(to chat.Target) []string {
	return w.which(to, func(v standin.Version) bool { return v.Streaming })
}

func (w *world) Broken(to chat.Target) []string {
	return w.which(to, func(v standin.Version) bool { return v.Broken })
}

func (w *world) which(to chat.Target, is func(standin.Version) bool) []string {
	var texts []string
	for _, m := range w.standing(to) {
		if is(m.Last()) {
			texts = append(texts, m.Shown())
		}
	}
	return texts
}

func (w *world) StreamLife() time.Duration { return 5 * time.Minute }

// Repeat makes Slack deliver events twice, as if the acknowledgements had been lost. In addition, a mention of the bot
// always causes two events of different kinds.
func (w *world) Repeat() {
	w.server.Fault(standin.Fault{Method: "event", Action: standin.ActDuplicate})
}

func (w *world) Say(to chat.Target, s conformance.Saying) {
	w.t.Helper()
	in := standin.Incoming{Channel: string(to.Chat), User: writer(to), Text: s.Text, Thread: string(to.Thread)}
	if s.Command && to.Thread == "" {
		w.server.Command(in.Channel, in.User, "/telex", strings.TrimPrefix(s.Text, "/"))
		return
	}
	if s.Mention {
		in.Text = mention + " " + in.Text
	}
	if s.ReplyTo.ID != "" {
		in.Thread = ts(s.ReplyTo.ID)
	}
	said := w.server.Say(in)
	if said == "" {
		w.t.Fatalf("%+v can't be said", in)
	}
	if s.Edited != "" {
		w.server.Edit(in.Channel, said, s.Edited)
	}
}

func (w *world) Attach(to chat.Target, f conformance.File, size int64) {
	if size == 0 {
		size = -1 // with the size -1, the stand-in reports no size
	}
	w.server.Say(standin.Incoming{
		Channel: string(to.Chat), User: writer(to), Thread: string(to.Thread), Text: f.Caption,
		Files: []standin.Attachment{{Name: f.Name, Mime: "text/plain", Content: f.Content, Size: int(size)}},
	})
	if len(f.Content) > 0 {
		return
	}
	history := w.server.History(string(to.Chat))
	w.server.DeleteFile(history[len(history)-1].Files[0].ID)
}

func (w *world) Menu(chat.Target) []string { return nil }

func (w *world) MenuChanges() int { return 0 }

func (w *world) Remove(ref chat.MessageRef) {
	w.t.Helper()
	if !w.server.Delete(string(ref.Target.Chat), ts(ref.ID)) {
		w.t.Fatalf("there is no message %+v", ref)
	}
}

func (w *world) Ban(to chat.Target) { w.server.Archive(string(to.Chat), true) }

func (w *world) Garble() { w.Say(w.private, conformance.Saying{Text: garbled}) }

func (w *world) message(ref chat.MessageRef) standin.Message {
	w.t.Helper()
	for _, m := range w.server.History(string(ref.Target.Chat)) {
		if m.TS == ts(ref.ID) {
			return m
		}
	}
	w.t.Fatalf("there is no message %+v", ref)
	return standin.Message{}
}

// ts returns the part of the adapter's message id that identifies the message at Slack.
func ts(id chat.MessageID) string {
	name, _, _ := strings.Cut(string(id), "/")
	return name
}

// writer returns the person who writes in a chat.
func writer(to chat.Target) string {
	if to.Kind == chat.Private {
		return "U" + strings.TrimPrefix(string(to.Chat), "D")
	}
	return person
}

func methods(op chat.Op) []string {
	return map[chat.Op][]string{
		chat.OpSend: {"chat.postMessage", "files.completeUploadExternal"}, chat.OpEdit: {"chat.update"},
		chat.OpDelete: {"chat.delete", "files.delete"}, chat.OpTyping: {"assistant.threads.setStatus"},
		chat.OpStart: {"chat.startStream"}, chat.OpAppend: {"chat.appendStream"}, chat.OpStop: {"chat.stopStream"},
		chat.OpFind: {"conversations.history", "conversations.replies"},
	}[op]
}

// garbled is the text of a message that the test corrupts on its way to the adapter, by replacing the text with a value
// that is not a string.
const (
	garbled = "to be garbled"
	garbage = `{"a":"b"}      `
)

// garbling is a connection that corrupts messages whose text is the constant garbled, in socket frames and in HTTP requests.
type garbling struct{ net.Conn }

func (g garbling) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	copy(p[:n], bytes.ReplaceAll(p[:n], []byte(`"`+garbled+`"`), []byte(garbage)))
	return n, err
}

func (g garbling) Write(p []byte) (int, error) {
	return g.Conn.Write(bytes.ReplaceAll(p, []byte(`"`+garbled+`"`), []byte(garbage)))
}
