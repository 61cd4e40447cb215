package telegram_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/platforms/telegram"
	"telex/standin/memnet"
	standin "telex/standin/telegram"
)

var (
	_ gateway.Platform = (*telegram.Bot)(nil)
	_ preview.Editor   = (*telegram.Bot)(nil)
	_ preview.Deleter  = (*telegram.Bot)(nil)
	_ preview.Typer    = (*telegram.Bot)(nil)
	_ preview.Filer    = (*telegram.Bot)(nil)
	_ preview.Drafter  = (*telegram.Bot)(nil)
	_ gateway.Fetcher  = (*telegram.Bot)(nil)
	_ gateway.Menu     = (*telegram.Bot)(nil)

	_ conformance.Presser      = (*world)(nil)
	_ conformance.DraftStopper = (*world)(nil)
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, newWorld)
}

const (
	username  = "telex_bot"
	privateID = 1001
	otherID   = 1002 // the id of a group member who writes nothing
	groupID   = -1001234567890
	// If a message contains the text of the constant garbled, the test corrupts the message on its way to the adapter.
	garbled = "to be garbled"
)

// world runs Telegram's stand-in on an in-memory network.
type world struct {
	t      *testing.T
	server *standin.Server
	net    *memnet.Listener

	presses int
	rich    telegram.Rich
	hook    *memoryListener // the address at which the bot receives updates by a webhook; nil: the bot polls
	behind  time.Duration   // how far Telegram's clock is behind the clock of this machine
}

func newWorld(t *testing.T) conformance.World { return makeWorld(t, nil) }

func makeWorld(t *testing.T, hook *memoryListener) *world {
	o := standin.Options{Username: username, Limits: standin.NoLimits(), Latency: 20 * time.Millisecond, ReadAll: true}
	if hook != nil {
		o.Dial = hook.dial
	}
	w := &world{t: t, server: standin.New(o), hook: hook}
	for _, id := range []int64{privateID, groupID} {
		w.server.SetAdmin(id, false) // SetAdmin creates the chat
	}
	w.net = memnet.Serve(t, w.server)
	return w
}

func (w *world) Connect(log *slog.Logger, how conformance.Connection) conformance.Adapter {
	w.t.Helper()
	token, dial := w.server.Token(), w.net.Dial
	switch how {
	case conformance.WrongSecret:
		token = "1234567890:wrong"
	case conformance.Unreachable:
		dial = memnet.Refuse
	case conformance.Proper:
	}
	o := telegram.Options{
		Token: token, APIBase: "http://telegram.test", Log: log, Rich: w.rich,
		HTTP: datedBack{garbling{&http.Transport{DialContext: dial}}, w.behind},
	}
	if w.hook != nil {
		o.Webhook = telegram.Webhook{URL: hookURL, Secret: hookSecret, Listener: w.hook.listen}
	}
	bot := telegram.New(o)
	w.t.Cleanup(bot.Close)
	return bot
}

func (w *world) Secrets() []string { return []string{w.server.Token(), "1234567890:wrong", hookSecret} }

func (w *world) Private() chat.Target { return chat.Target{Chat: "1001"} }

func (w *world) Group() chat.Target { return chat.Target{Chat: "-1001234567890", Kind: chat.Group} }

func (w *world) Crowd(n int) []chat.Target {
	list := make([]chat.Target, n)
	for i := range list {
		id := int64(2001 + i)
		w.server.SetAdmin(id, false)
		list[i] = chat.Target{Chat: chat.ChatID(strconv.FormatInt(id, 10))}
	}
	return list
}

func (w *world) Shown(to chat.Target) []string {
	var texts []string
	for _, m := range w.server.View(w.id(to), time.Now()) {
		if m.FromBot {
			texts = append(texts, seen(m.Text()))
		}
	}
	return texts
}

// seen returns a text as a person sees it: it replaces no-break spaces with normal spaces.
func seen(text string) string { return strings.ReplaceAll(text, "\u00a0", " ") }

func (w *world) Files(to chat.Target) []conformance.File {
	var files []conformance.File
	for _, m := range w.server.View(w.id(to), time.Now()) {
		if m.FromBot && m.Media == "document" {
			files = append(files, conformance.File{Name: m.FileName, Content: m.File, Caption: m.Text()})
		}
	}
	return files
}

func (w *world) Drafts(to chat.Target) []string {
	var texts []string
	for _, d := range w.server.Screen(w.id(to), time.Now()).Drafts {
		texts = append(texts, seen(d.Text))
	}
	return texts
}

func (w *world) StopDraft(to chat.Target) bool {
	for _, d := range w.server.Screen(w.id(to), time.Now()).Drafts {
		return w.server.StopDraft(w.id(to), d.ID)
	}
	return false
}

func (w *world) Calls(op chat.Op) int { return len(w.calls(methods(op)...)) }

// calls returns the recorded calls of the given methods.
func (w *world) calls(methods ...string) []standin.Call {
	return slices.DeleteFunc(w.server.Calls(), func(c standin.Call) bool { return !slices.Contains(methods, c.Method) })
}

func (w *world) Break(op chat.Op, f conformance.Fault) {
	w.server.Fault(once(strings.Join(methods(op), "|"), f.OnCall()))
}

func (w *world) Enforce(r conformance.Rates) {
	hidden := standin.NoLimits()
	if r == conformance.Halved {
		p := standin.PublishedLimits()
		hidden.PrivatePerSecond, hidden.PrivateBurst = p.PrivatePerSecond/2, p.PrivateBurst
		hidden.GroupPerMinute, hidden.GlobalPerSecond = p.GroupPerMinute/2, p.GlobalPerSecond/2
	}
	w.server.SetLimits(standin.PublishedLimits(), hidden)
}

func (w *world) Violations() []string {
	var list []string
	for _, v := range w.server.Stats().Violations.Details {
		list = append(list, fmt.Sprintf("%s in %d: %s: %s", v.Method, v.Chat, v.Kind, v.Detail))
	}
	return list
}

func (w *world) Refusals() int {
	st := w.server.Stats()
	return st.TooManyRequests - st.Forced
}

func (w *world) Versions(to chat.Target) []conformance.Version {
	var list []conformance.Version
	for _, m := range w.server.History(w.id(to)) {
		for _, v := range m.Versions {
			if m.FromBot {
				list = append(list, conformance.Version{At: v.At, Message: strconv.Itoa(m.ID), Text: seen(v.Text)})
			}
		}
	}
	return conformance.InOrder(list)
}

// Pings returns the mentions that Telegram finds in the messages of a group. For a private chat, Pings returns nothing,
// because a mention in a private chat notifies nobody.
func (w *world) Pings(to chat.Target) []string {
	var list []string
	if to.Kind == chat.Private {
		return nil
	}
	for _, m := range w.server.History(w.id(to)) {
		for _, v := range m.Versions {
			for _, e := range slices.Concat(v.Entities, v.Detected) {
				if m.FromBot && (e.Type == "mention" || e.Type == "text_mention") {
					list = append(list, fmt.Sprintf("%+v in %q", e, v.Text))
				}
			}
		}
	}
	return list
}

func (w *world) Opened(to chat.Target) []string {
	var list []string
	for _, m := range w.server.History(w.id(to)) {
		for _, v := range m.Versions {
			if address := v.Opened(); m.FromBot && m.Media == "" && address != "" {
				list = append(list, address)
			}
		}
	}
	return list
}

func (w *world) Sample() string {
	if w.rich != "" { // a rich message shows the table as a table
		return richSample
	}
	return strings.Join([]string{
		"The plan",
		"",
		"Some bold, italic and old words, with code_1 and a link.",
		"",
		"• first",
		"• second",
		"  ◦ deeper",
		"",
		"1. one",
		"2. two",
		"",
		"quoted",
		"",
		`fmt.Println("a < b")`,
		"",
		"Name    Size",
		"------  ----",
		"ant        1",
		"beetle    20",
		"",
		"That is all.",
	}, "\n")
}

// Unpreviewed reports whether the bot's messages never have link previews, which is true if all messages are rich
// messages.
func (w *world) Unpreviewed() bool { return w.rich == telegram.RichAlways }

// richSample is the text that people see if the suite's sample is sent as a rich message.
const richSample = `The plan

Some bold, italic and old words, with code_1 and a link.

• first
• second
  ◦ deeper

1. one
2. two

quoted

fmt.Println("a < b")

Name  Size
ant  1
beetle  20

That is all.`

func (w *world) Buttons(ref chat.MessageRef) []chat.Action {
	var list []chat.Action
	for _, m := range w.server.View(w.id(ref.Target), time.Now()) {
		if m.ID != w.number(string(ref.ID)) {
			continue
		}
		for _, row := range m.Last().Keyboard {
			for _, b := range row {
				list = append(list, chat.Action{ID: b.CallbackData, Label: b.Text})
			}
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
	w.press(ref, action, otherID)
}

func (w *world) press(ref chat.MessageRef, action string, who int64) {
	w.t.Helper()
	if id := w.server.Press(w.id(ref.Target), who, w.number(string(ref.ID)), action); id == "" {
		w.t.Fatalf("there is no button %q below %+v", action, ref)
	}
	w.presses++
}

func (w *world) Unanswered() int { return w.presses - len(w.server.CallbackAnswers()) }

func (w *world) BreakFetch(f conformance.Fault) { w.server.Fault(once("file", f.OnFetch())) }

// once returns a fault that affects one call.
func once(method string, e conformance.Effect) standin.Fault {
	return standin.Fault{Method: method, Times: 1, Action: e.Action, Status: e.Status, RetryAfter: e.RetryAfter.Seconds()}
}

func (w *world) Attach(to chat.Target, f conformance.File, size int64) {
	if size == 0 {
		size = -1 // with the size -1, the stand-in reports no size
	}
	w.server.Say(standin.Incoming{
		Chat: w.id(to), User: privateID, Text: f.Caption,
		Attachment: standin.Attachment{Media: "document", FileName: f.Name, MimeType: "text/plain", Content: f.Content, FileSize: size},
	})
}

func (w *world) Menu(to chat.Target) []string {
	var names []string
	for _, c := range w.server.Menu(w.id(to), privateID) {
		names = append(names, c.Command)
	}
	return names
}

func (w *world) MenuChanges() int {
	return len(w.calls("setMyCommands", "deleteMyCommands"))
}

func (w *world) Say(to chat.Target, s conformance.Saying) {
	in := standin.Incoming{Chat: w.id(to), User: w.writer(to), Text: s.Text}
	if s.Mention {
		in.Text = "@" + username + " " + in.Text
	}
	if s.ReplyTo.ID != "" {
		in.ReplyTo = w.number(string(s.ReplyTo.ID))
	}
	id := w.server.Say(in)
	if s.Edited != "" {
		in.Text, in.EditOf = s.Edited, id
		w.server.Say(in)
	}
}

// writer returns the id of the person who writes in a chat.
func (w *world) writer(to chat.Target) int64 {
	if to.Kind == chat.Group {
		return privateID
	}
	return w.id(to)
}

func (w *world) Remove(ref chat.MessageRef) {
	w.t.Helper()
	if !w.server.Delete(w.id(ref.Target), w.number(string(ref.ID))) {
		w.t.Fatalf("there is no message %+v", ref)
	}
}

func (w *world) Ban(to chat.Target) { w.server.Block(w.id(to), true) }

func (w *world) Garble() { w.Say(w.Private(), conformance.Saying{Text: garbled}) }

func (w *world) id(to chat.Target) int64 { return int64(w.number(string(to.Chat))) }

func (w *world) number(s string) int {
	w.t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func methods(op chat.Op) []string {
	return map[chat.Op][]string{
		chat.OpSend: {"sendMessage", "sendRichMessage", "sendDocument", "sendPhoto"}, chat.OpEdit: {"editMessageText"}, chat.OpFind: {"editMessageText", "editMessageCaption"},
		chat.OpDelete: {"deleteMessage"}, chat.OpTyping: {"sendChatAction"}, chat.OpDraft: {"sendMessageDraft", "sendRichMessageDraft"},
	}[op]
}

// garbling is a transport that corrupts updates that contain the constant garbled, on their way to the adapter.
type garbling struct{ *http.Transport }

func (g garbling) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := g.Transport.RoundTrip(r)
	if err != nil || path.Base(r.URL.Path) != "getUpdates" || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if err := resp.Body.Close(); err != nil {
		return nil, err
	}
	var answer struct {
		OK     bool                         `json:"ok"`
		Result []map[string]json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	bad := []string{`"text"`, `{"message_id":{}}`, `{"chat":{"id":"x"}}`, `[]`}
	for i, u := range answer.Result {
		if bytes.Contains(u["message"], []byte(garbled)) {
			u["message"] = json.RawMessage(bad[i%len(bad)])
		}
	}
	body, err = json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}
