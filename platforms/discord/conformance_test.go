package discord_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/platforms/discord"
	standin "telex/standin/discord"
	"telex/standin/fault"
	"telex/standin/memnet"
)

var (
	_ gateway.Platform  = (*discord.Bot)(nil)
	_ preview.Editor    = (*discord.Bot)(nil)
	_ preview.Deleter   = (*discord.Bot)(nil)
	_ preview.Typer     = (*discord.Bot)(nil)
	_ preview.Filer     = (*discord.Bot)(nil)
	_ gateway.Fetcher   = (*discord.Bot)(nil)
	_ gateway.Menu      = (*discord.Bot)(nil)
	_ gateway.Concluder = (*discord.Bot)(nil)

	_ conformance.Presser   = (*world)(nil)
	_ conformance.Asker     = (*world)(nil)
	_ conformance.OpenFiles = (*world)(nil)
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, newWorld)
}

const (
	wrongToken = "MTIz.GabCde.wrong"
	// garbled is the text of a message that the test corrupts on its way to the adapter.
	garbled = "to be garbled"
	app     = standin.DefaultBot
	// otherPerson is the id of a second person, who is not the default person of the stand-in.
	otherPerson = "200000000000001999"
)

// world is Discord's stand-in on an in-memory network.
type world struct {
	t       *testing.T
	server  *standin.Server
	net     *memnet.Listener
	direct  string // the DM with the default person
	threads bool   // the bot answers in threads
	content bool   // the bot requests the privileged intent
	thread  string // the id of the thread that is the suite's group; empty: the suite's group is a channel
	met     bool   // the bot's account has been connected before
}

func newWorld(t *testing.T) conformance.World {
	return newWorldWith(t, standin.Options{Limits: standin.NoLimits()})
}

func newWorldWith(t *testing.T, o standin.Options) *world {
	if o.Latency == 0 {
		o.Latency = 20 * time.Millisecond
	}
	w := &world{t: t, server: standin.New(o)}
	w.direct = w.server.DM(standin.DefaultPerson)
	w.net = memnet.Serve(t, w.server)
	return w
}

func (w *world) Connect(log *slog.Logger, how conformance.Connection) conformance.Adapter {
	w.t.Helper()
	bot := w.bot(log, how)
	if how == conformance.Proper && !w.met {
		// Discord returns no messages from before an account's first connection, and does not list older DMs. Connect
		// therefore connects the account once before the case begins.
		w.met = true
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
		defer cancel()
		if err := bot.Run(ctx, chat.Resume{}, func(context.Context, chat.Inbound) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			w.t.Fatalf("Run: %v", err)
		}
	}
	return bot
}

// bot returns a bot that has not run yet.
func (w *world) bot(log *slog.Logger, how conformance.Connection) *discord.Bot {
	w.t.Helper()
	o := discord.Options{Token: w.server.Token(), APIBase: "http://discord.test", Log: log, HTTP: &http.Transport{DialContext: w.dial}, Threads: w.threads, Content: w.content}
	switch how {
	case conformance.WrongSecret:
		o.Token = wrongToken
	case conformance.Unreachable:
		o.HTTP = &http.Transport{DialContext: memnet.Refuse}
	case conformance.Proper:
	}
	bot := discord.New(o)
	w.t.Cleanup(bot.Close)
	return bot
}

func (w *world) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := w.net.Dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return garbling{c}, nil
}

func (w *world) Secrets() []string {
	list := []string{w.server.Token(), wrongToken}
	for _, i := range w.server.Interactions() {
		list = append(list, i.Token)
	}
	return list
}

func (w *world) Private() chat.Target { return chat.Target{Chat: chat.ChatID(w.direct)} }

func (w *world) Group() chat.Target {
	return chat.Target{Chat: standin.DefaultChannel, Thread: chat.ThreadID(w.thread), Kind: chat.Group}
}

func (w *world) Crowd(n int) []chat.Target {
	list := make([]chat.Target, n)
	for i := range list {
		list[i] = chat.Target{Chat: chat.ChatID(w.server.DM(strconv.Itoa(200000000000002001 + i)))}
	}
	return list
}

// channel returns Discord's id of a target's thread or channel.
func channel(to chat.Target) string {
	if to.Thread != "" {
		return string(to.Thread)
	}
	return string(to.Chat)
}

// message converts the adapter's id of a message to Discord's id of the message.
func message(id chat.MessageID) string {
	return strings.FieldsFunc(string(id), func(r rune) bool { return r == '.' || r == '/' })[0]
}

// writer returns the person who writes in a chat.
func (w *world) writer(to chat.Target) string {
	for _, c := range w.server.Channels() {
		if c.ID == string(to.Chat) && c.Person != "" {
			return c.Person
		}
	}
	return standin.DefaultPerson
}

// standing returns those messages of the bot in a chat that have not been deleted.
func (w *world) standing(to chat.Target) []standin.Message {
	return slices.DeleteFunc(w.server.View(channel(to), time.Now()), func(m standin.Message) bool {
		return !m.FromBot || m.Last().Loading() || m.OnlyFor != ""
	})
}

func (w *world) Shown(to chat.Target) []string {
	var texts []string
	for _, m := range w.standing(to) {
		texts = append(texts, m.Content())
	}
	return texts
}

func (w *world) Files(to chat.Target) []conformance.File {
	var files []conformance.File
	for _, m := range w.standing(to) {
		for _, a := range m.Last().Attachments {
			files = append(files, conformance.File{Name: a.Name, Content: a.Content, Caption: m.Content()})
		}
	}
	return files
}

func (w *world) Drafts(chat.Target) []string { return nil }

func (w *world) Calls(op chat.Op) int { return len(w.calls(methods(op)...)) }

// calls returns the recorded calls of the given methods.
func (w *world) calls(methods ...string) []standin.Call {
	return slices.DeleteFunc(w.server.Calls(), func(c standin.Call) bool { return !slices.Contains(methods, c.Method) })
}

func methods(op chat.Op) []string {
	return map[chat.Op][]string{
		chat.OpSend: {"createMessage"}, chat.OpEdit: {"editMessage", "editOwn"},
		chat.OpDelete: {"deleteMessage", "deleteOwn"}, chat.OpTyping: {"typing"},
	}[op]
}

func (w *world) Break(op chat.Op, f conformance.Fault) {
	w.server.Fault(once(strings.Join(methods(op), "|"), f.OnCall()))
}

// once returns a fault that affects one call.
func once(method string, e conformance.Effect) standin.Fault {
	f := standin.Fault{Method: method, Times: 1, Action: e.Action, Status: e.Status, RetryAfter: e.RetryAfter.Seconds()}
	if e.Status == http.StatusForbidden {
		f.Description, f.Code = "Missing Access", 50001
	}
	return f
}

func (w *world) Enforce(r conformance.Rates) {
	hidden := standin.NoLimits()
	if r == conformance.Halved {
		p := standin.PublishedLimits()
		hidden.Messages, hidden.Global = p.Messages/2, p.Global/2
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
	for _, m := range w.server.History(channel(to)) {
		for _, v := range m.Versions {
			if m.FromBot && !v.Loading() {
				list = append(list, conformance.Version{At: v.At, Message: m.ID, Text: v.Content})
			}
		}
	}
	return conformance.InOrder(list)
}

func (w *world) Pings(to chat.Target) []string {
	var list []string
	history := w.server.History(channel(to))
	for _, m := range history {
		for _, who := range m.Pings {
			answered := slices.ContainsFunc(history, func(o standin.Message) bool { return o.ID == m.ReplyTo && "user:"+o.From.ID == who })
			if m.FromBot && !answered {
				list = append(list, fmt.Sprintf("%s by %q", who, m.Content()))
			}
		}
	}
	return list
}

func (w *world) Opened(to chat.Target) []string {
	var list []string
	for _, m := range w.server.History(channel(to)) {
		for _, v := range m.Versions {
			if m.FromBot {
				list = append(list, v.Opened()...)
			}
		}
	}
	return list
}

func (w *world) Sample() string {
	return strings.Join([]string{
		"# The plan",
		"",
		"Some **bold**, *italic* and ~~old~~ words, with `code_1` and [a link](https://example.org/a_b).",
		"",
		"- first",
		"- second",
		"  - deeper",
		"",
		"1. one",
		"2. two",
		"",
		"> quoted",
		"",
		"```go",
		`fmt.Println("a < b")`,
		"```",
		"",
		"```",
		"Name    Size",
		"------  ----",
		"ant        1",
		"beetle    20",
		"```",
		"",
		"That is all.",
	}, "\n")
}

func (w *world) Buttons(ref chat.MessageRef) []chat.Action {
	var list []chat.Action
	for _, m := range w.standing(ref.Target) {
		if m.ID != message(ref.ID) {
			continue
		}
		for _, b := range m.Last().Buttons {
			list = append(list, chat.Action{ID: b.CustomID, Label: b.Label})
		}
	}
	return list
}

func (w *world) Press(ref chat.MessageRef, action string) {
	w.t.Helper()
	w.press(ref, action, w.writer(ref.Target))
}

func (w *world) PressAside(ref chat.MessageRef, action string) {
	w.t.Helper()
	w.press(ref, action, otherPerson)
}

func (w *world) press(ref chat.MessageRef, action, who string) {
	w.t.Helper()
	if _, err := w.server.Press(channel(ref.Target), message(ref.ID), action, who); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) Unanswered() int {
	n := 0
	for _, i := range w.server.Interactions() {
		if i.Type == 3 && i.Answered.IsZero() {
			n++
		}
	}
	return n
}

func (w *world) Ask(to chat.Target, question string) {
	w.t.Helper()
	in := standin.Invocation{Channel: channel(to), User: w.writer(to), Name: "ask", Options: map[string]any{"question": question}}
	var err error
	for range 100 { // repeat the call until the command is registered
		if _, err = w.server.Slash(in); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.t.Fatal(err)
}

func (w *world) Dangling() int {
	n := 0
	for _, c := range w.server.Channels() {
		screen := w.server.Screen(c.ID, time.Now())
		n += len(screen.Failed)
		for _, m := range screen.Messages {
			if m.Last().Loading() {
				n++
			}
		}
	}
	return n
}

func (w *world) Say(to chat.Target, s conformance.Saying) {
	w.t.Helper()
	in := standin.Incoming{Channel: channel(to), User: w.writer(to), Text: s.Text}
	if s.Mention || s.Command && to.Kind == chat.Group { // Discord's client treats text that begins with a slash as its own command
		in.Text = w.server.Mention() + " " + in.Text
	}
	if s.ReplyTo.ID != "" {
		in.ReplyTo = message(s.ReplyTo.ID)
	}
	id, err := w.server.Say(in)
	if err == nil && s.Edited != "" {
		in.Text, in.EditOf = s.Edited, id
		_, err = w.server.Say(in)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) Attach(to chat.Target, f conformance.File, _ int64) {
	w.t.Helper()
	if f.Content == nil {
		f.Content = []byte("gone")
		w.server.Fault(standin.Fault{Method: "attachment", Times: 1, Action: fault.Status, Status: http.StatusNotFound})
	}
	in := standin.Incoming{
		Channel: channel(to), User: w.writer(to), Text: f.Caption, Files: []standin.File{{Name: f.Name, ContentType: "text/plain", Content: f.Content}},
	}
	if _, err := w.server.Say(in); err != nil {
		w.t.Fatal(err)
	}
}

// OpenFiles marks Discord as a platform where everybody who has the URL of a file can download the file.
func (w *world) OpenFiles() {}

func (w *world) BreakFetch(f conformance.Fault) { w.server.Fault(once("attachment", f.OnFetch())) }

func (w *world) Menu(to chat.Target) []string {
	w.t.Helper()
	transport := &http.Transport{DialContext: w.net.Dial}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://discord.test/api/v10/applications/"+app+"/commands", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bot "+w.server.Token())
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // the body is read to its end.
	var list []struct {
		Name     string `json:"name"`
		Contexts []int  `json:"contexts"`
	}
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	context := 0
	if to.Kind == chat.Private {
		context = 1
	}
	var names []string
	for _, c := range list {
		if slices.Contains(c.Contexts, context) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names) // Discord's clients show the commands in alphabetical order
	return names
}

func (w *world) MenuChanges() int {
	return len(w.calls("createCommand", "overwriteCommands", "editCommand", "deleteCommand"))
}

func (w *world) Remove(ref chat.MessageRef) {
	w.t.Helper()
	if err := w.server.Delete(channel(ref.Target), message(ref.ID)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) Ban(to chat.Target) {
	w.t.Helper()
	if err := w.server.Permit(channel(to), standin.Access{Hidden: true}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) Garble() { w.Say(w.Private(), conformance.Saying{Text: garbled}) }

// garbling is a connection that corrupts messages whose text is the constant garbled. The messages keep their length.
type garbling struct{ net.Conn }

func (g garbling) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	marked := []byte(`"content":"` + garbled + `"`)
	copy(p[:n], bytes.ReplaceAll(p[:n], marked, []byte(`"content":{"x":[1,2,3,4]}`)))
	return n, err
}
