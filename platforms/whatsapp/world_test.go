package whatsapp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
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
	"telex/platforms/whatsapp"
	"telex/standin/fault"
	"telex/standin/memnet"
	standin "telex/standin/whatsapp"
)

var (
	_ gateway.Platform = (*whatsapp.Bot)(nil)
	_ preview.Typer    = (*whatsapp.Bot)(nil)
	_ preview.Filer    = (*whatsapp.Bot)(nil)
	_ gateway.Fetcher  = (*whatsapp.Bot)(nil)
	_ gateway.Named    = (*whatsapp.Bot)(nil)
	_ gateway.Pulse    = (*whatsapp.Bot)(nil)

	_ conformance.Presser      = (*world)(nil)
	_ conformance.Repeater     = (*world)(nil)
	_ conformance.Checker      = (*world)(nil)
	_ conformance.UnknownLimit = (*world)(nil)
	_ conformance.Brief        = (*world)(nil)
	_ conformance.Unsized      = (*world)(nil)
	_ conformance.Unordered    = (*world)(nil)
)

const wrongToken = "EAA-wrong-token"

// world is WhatsApp's stand-in on an in-memory network. The world has no groups.
type world struct {
	t      *testing.T
	server *standin.Server
	net    *memnet.Listener
	events *memoryListener // the listener for webhooks

	mu     sync.Mutex
	hidden map[chat.MessageID]bool // messages that the person has hidden from her own view
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
	return c, nil
}

func newWorld(t *testing.T, o standin.Options) *world {
	t.Helper()
	w := &world{t: t, events: &memoryListener{}, hidden: map[chat.MessageID]bool{}}
	if o.Limits == (standin.Limits{}) {
		o.Limits = standin.NoLimits()
	}
	o.Latency, o.Dial, o.BatchWindow = 20*time.Millisecond, w.events.dial, 20*time.Millisecond // messages that arrive within BatchWindow are in one webhook
	w.server = standin.New(o)
	w.net = memnet.Serve(t, w.server)
	t.Cleanup(w.neverEdits)
	for _, to := range append(crowd(maxCrowd), w.Private()) {
		w.Say(to, conformance.Saying{Text: "good morning"}) // this message, which no bot receives, begins the 24 hours in which answers are allowed
	}
	time.Sleep(time.Second)
	w.verify()
	return w
}

// neverEdits checks that the bot never tried to change a message, and that no message ever had a cursor.
func (w *world) neverEdits() {
	if n := w.server.Stats().EditAttempts; n > 0 {
		w.t.Errorf("%d attempts to edit", n)
	}
	for _, m := range w.server.History("") {
		for _, v := range m.Versions {
			if m.FromBot && strings.Contains(v.Text, "▌") {
				w.t.Errorf("shown was a cursor: %q", v.Text)
			}
		}
	}
}

// verify makes the stand-in deliver webhooks from now on. A temporary server answers the verification request of the
// stand-in.
func (w *world) verify() {
	w.t.Helper()
	l, _ := w.events.listen(w.t.Context())
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Connection", "close")
		_, _ = io.WriteString(rw, r.URL.Query().Get("hub.challenge"))
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	if err := w.server.SetCallback(w.t.Context(), "http://telex.test/whatsapp"); err != nil {
		w.t.Fatal(err)
	}
	_ = srv.Close()
	<-done
}

func (w *world) Connect(log *slog.Logger, how conformance.Connection) conformance.Adapter {
	w.t.Helper()
	return w.bot(log, how)
}

// bot is like Connect, but returns a *whatsapp.Bot.
func (w *world) bot(log *slog.Logger, how conformance.Connection) *whatsapp.Bot {
	w.t.Helper()
	o := whatsapp.Options{
		AccessToken: w.server.Token(), PhoneNumberID: standin.PhoneNumberID, AppSecret: w.server.AppSecret(), VerifyToken: w.server.VerifyToken(),
		APIBase: "http://whatsapp.test", Log: log, HTTP: &http.Transport{DialContext: w.net.Dial}, Listener: w.events.listen,
	}
	switch how {
	case conformance.WrongSecret:
		o.AccessToken = wrongToken
	case conformance.Unreachable:
		o.HTTP = &http.Transport{DialContext: memnet.Refuse}
	case conformance.Proper:
	}
	bot := whatsapp.New(o)
	w.t.Cleanup(bot.Close)
	return bot
}

func (w *world) Secrets() []string {
	return []string{w.server.Token(), w.server.AppSecret(), w.server.VerifyToken(), wrongToken}
}

func (w *world) Private() chat.Target { return chat.Target{Chat: standin.DefaultUser} }

func (w *world) Group() chat.Target { return chat.Target{} }

// maxCrowd is the maximum number of people that Crowd returns in a test case.
const maxCrowd = 32

func (w *world) Crowd(n int) []chat.Target {
	w.t.Helper()
	if n > maxCrowd {
		w.t.Fatalf("%d people, and there are %d", n, maxCrowd)
	}
	return crowd(n)
}

func crowd(n int) []chat.Target {
	list := make([]chat.Target, n)
	for i := range list {
		list[i].Chat = chat.ChatID(fmt.Sprintf("US.1555000%04d", 3001+i))
	}
	return list
}

// messages returns the bot's messages in a chat, as the person sees them.
func (w *world) messages(to chat.Target) []standin.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(w.server.History(string(to.Chat)), func(m standin.Message) bool {
		return !m.FromBot || w.hidden[chat.MessageID(m.ID)]
	})
}

func (w *world) Shown(to chat.Target) []string {
	var texts []string
	for _, m := range w.messages(to) {
		texts = append(texts, m.Shown())
	}
	return texts
}

func (w *world) Files(to chat.Target) []conformance.File {
	var files []conformance.File
	for _, m := range w.messages(to) {
		if f := m.Last().File; f != nil {
			files = append(files, conformance.File{Name: f.Name, Content: f.Content, Caption: m.Shown()})
		}
	}
	return files
}

func (w *world) Drafts(chat.Target) []string { return nil }

func (w *world) Calls(op chat.Op) int {
	n := 0
	for _, c := range w.server.Calls() {
		if slices.Contains(strings.Split(method(op), "|"), c.Method) {
			n++
		}
	}
	return n
}

func (w *world) Break(op chat.Op, f conformance.Fault) { w.server.Fault(once(method(op), f.OnCall())) }

func (w *world) BreakFetch(f conformance.Fault) { w.server.Fault(once("download", f.OnFetch())) }

// once returns a fault that affects one call.
func once(method string, e conformance.Effect) standin.Fault {
	f := standin.Fault{Method: method, Times: 1, Action: e.Action, Status: e.Status, RetryAfter: e.RetryAfter.Seconds()}
	if method == "download" { // the download of a file is not a call of the API
		if f.Action == fault.RateLimit {
			f.Action, f.Status, f.RetryAfter = fault.Status, http.StatusTooManyRequests, 0
		}
		return f
	}
	switch e.Status { // for these errors, WhatsApp's responses have a special form
	case http.StatusForbidden:
		f.Action, f.Status, f.Code = fault.Error, 0, standin.CodeUndeliverable
	case http.StatusUnauthorized:
		f.Action, f.Status, f.Code = fault.Error, 0, standin.CodeToken
	}
	if f.Action == fault.RateLimit {
		f.Code = standin.CodePair
	}
	return f
}

// RetryAfter returns twice the minimum time between two messages to one person.
func (w *world) RetryAfter() time.Duration { return 12 * time.Second }

func (w *world) Enforce(r conformance.Rates) {
	hidden := standin.NoLimits()
	if p := standin.PublishedLimits(); r == conformance.Halved {
		hidden = standin.Limits{PerSecond: p.PerSecond / 2, PairInterval: 2 * p.PairInterval, PairBurst: p.PairBurst, AccountPerHour: p.AccountPerHour / 2}
	}
	w.server.SetLimits(standin.PublishedLimits(), hidden)
}

// Violations returns all violations that the stand-in has recorded. Every attempt to change a message is a violation,
// because WhatsApp has no edits (F56).
func (w *world) Violations() []string {
	var list []string
	for _, v := range w.server.Stats().Violations.Details {
		list = append(list, fmt.Sprintf("%s to %s: %s: %s", v.Method, v.User, v.Kind, v.Detail))
	}
	return list
}

func (w *world) Refusals() int {
	st := w.server.Stats()
	return st.ByCode[standin.CodePair] + st.ByCode[standin.CodeThroughput] - st.Forced
}

func (w *world) Versions(to chat.Target) []conformance.Version {
	var list []conformance.Version
	for _, m := range w.messages(to) {
		for _, v := range m.Versions {
			list = append(list, conformance.Version{At: v.At, Message: m.ID, Text: v.Text})
		}
	}
	return conformance.InOrder(list)
}

// Pings returns nil, because a text on WhatsApp notifies nobody but the recipient.
func (w *world) Pings(chat.Target) []string { return nil }

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
	for _, m := range w.messages(ref.Target) {
		if m.ID != string(ref.ID) {
			continue
		}
		for _, b := range m.Last().Buttons {
			list = append(list, chat.Action{ID: b.ID, Label: b.Title})
		}
	}
	return list
}

func (w *world) Press(ref chat.MessageRef, action string) {
	w.t.Helper()
	if _, err := w.server.Press(string(ref.Target.Chat), string(ref.ID), action); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) PressAside(chat.MessageRef, string) { w.t.Fatal("there are no groups") }

func (w *world) Unanswered() int {
	n := 0
	for _, d := range w.server.Deliveries() {
		if d.Kind == "message" && d.Acked.IsZero() && !d.Lost {
			n++
		}
	}
	return n
}

func (w *world) ButtonText() int { return 1024 }

func (w *world) Unsized() {}

func (w *world) Unordered() {}

// Repeat makes Meta deliver every webhook with messages twice.
func (w *world) Repeat() {
	w.server.Fault(standin.Fault{Method: "message", Action: standin.ActDuplicate})
}

func (w *world) Say(to chat.Target, s conformance.Saying) {
	w.t.Helper()
	id, err := w.server.Say(standin.Incoming{User: string(to.Chat), Text: s.Text, ReplyTo: string(s.ReplyTo.ID)})
	if err == nil && s.Edited != "" {
		err = w.server.Edit(string(to.Chat), id, s.Edited)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) Attach(to chat.Target, f conformance.File, size int64) {
	w.t.Helper()
	media := &standin.Media{Type: "document", Name: f.Name, Mime: "text/plain", Content: f.Content, Size: int(size)}
	id, err := w.server.Say(standin.Incoming{User: string(to.Chat), Text: f.Caption, File: media})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(f.Content) > 0 {
		return
	}
	for _, m := range w.server.History(string(to.Chat)) {
		if m.ID == id {
			w.discard(m.Last().File.ID)
		}
	}
}

// discard deletes a file from WhatsApp's stand-in.
func (w *world) discard(id string) {
	w.t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: w.net.Dial}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodDelete, "http://whatsapp.test/v26.0/"+id, bytes.NewReader(nil))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.server.Token())
	resp, err := client.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("delete %s: %v, %v", id, resp, err)
	}
	_ = resp.Body.Close()
}

func (w *world) Menu(chat.Target) []string { return nil }

func (w *world) MenuChanges() int { return 0 }

// If ref refers to a person's own message, Remove deletes the message for everybody. If ref refers to a message of the
// bot, Remove hides the message from the person.
func (w *world) Remove(ref chat.MessageRef) {
	w.t.Helper()
	if w.server.Revoke(string(ref.Target.Chat), string(ref.ID)) == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hidden[ref.ID] = true
}

func (w *world) Ban(to chat.Target) {
	w.t.Helper()
	if err := w.server.SetPerson(standin.Person{UserID: string(to.Chat), Blocked: true}); err != nil {
		w.t.Fatal(err)
	}
}

// Garble delivers a webhook whose signature is valid, but whose messages can't be decoded.
func (w *world) Garble() {
	w.t.Helper()
	body := []byte(`{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"messages","value":{"metadata":{"phone_number_id":"` +
		standin.PhoneNumberID + `"},"messages":[{"id":7},"x",{"id":"wamid.x","timestamp":"soon"}]}}]}]}`)
	client := &http.Client{Transport: &http.Transport{DialContext: w.events.dial}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://telex.test/whatsapp", bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("X-Hub-Signature-256", standin.Sign(w.server.AppSecret(), body))
	if resp, err := client.Do(req); err == nil { // ignore an error: nobody listens then, and Meta would try again
		_ = resp.Body.Close()
	}
}

// Check returns an error if a code block in the shown text is not closed.
func (w *world) Check(shown string) error {
	fenced := false
	for line := range strings.SplitSeq(shown, "\n") {
		if strings.TrimLeft(line, "> ") == "```" {
			fenced = !fenced
		}
	}
	if fenced {
		return fmt.Errorf("a block of code stays open in %q", shown)
	}
	return nil
}

func method(op chat.Op) string {
	return map[chat.Op]string{chat.OpSend: "sendMessage", chat.OpTyping: "markRead|getPhoneNumber", chat.OpEdit: "edit", chat.OpDelete: "edit"}[op]
}
