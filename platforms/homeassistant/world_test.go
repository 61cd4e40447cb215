package homeassistant_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"telex/gateway"
	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/platforms/homeassistant"
	"telex/standin/fault"
	standin "telex/standin/homeassistant"
	"telex/standin/memnet"
)

var (
	_ gateway.Platform  = (*homeassistant.Bot)(nil)
	_ gateway.Concluder = (*homeassistant.Bot)(nil)
	_ gateway.Pulse     = (*homeassistant.Bot)(nil)

	_ conformance.Reporter    = (*world)(nil)
	_ conformance.Unpreviewed = (*world)(nil)
)

const (
	createAction = "persistent_notification.create"
	wrongToken   = "wrong-token"
)

// world is Home Assistant's stand-in on an in-memory network. The only chat of the world is the list of notifications.
// People can't write messages in Home Assistant, so a test instead changes the state of a new entity.
type world struct {
	t      *testing.T
	server *standin.Server
	net    *memnet.Listener
	said   int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, server: standin.New(standin.Options{})}
	w.net = memnet.Serve(t, w.server)
	t.Cleanup(w.neverEdits)
	return w
}

// neverEdits checks that no notification ever had a cursor, and that the bot never dismissed a notification. If the
// outcome of a create call was unknown, the bot may have created the notification again, but only with the same text.
// One case of the suite may change the text of a notification, because this case repeats a create call with a new text.
func (w *world) neverEdits() {
	for _, n := range w.bots("") {
		for _, v := range n.Versions {
			if strings.Contains(v.Text, "▌") {
				w.t.Errorf("shown was a cursor: %q", v.Text)
			}
			if v.Text != n.Versions[0].Text && !strings.Contains(w.t.Name(), "a_repeated_create_call_with_another_text") {
				w.t.Errorf("%q became %q", n.Versions[0].Text, v.Text)
			}
		}
	}
	if st := w.server.Stats(); st.Dismissed > 0 {
		w.t.Errorf("%d notifications were removed", st.Dismissed)
	}
}

func (w *world) Connect(log *slog.Logger, how conformance.Connection) conformance.Adapter {
	w.t.Helper()
	o := homeassistant.Options{
		URL: "http://house.test:8123", Token: w.server.Token(), Watch: homeassistant.Watch{All: true}, HTTP: w.net.Transport(w.t), Log: log,
	}
	switch how {
	case conformance.WrongSecret:
		o.Token = wrongToken
	case conformance.Unreachable:
		o.HTTP = &http.Transport{DialContext: memnet.Refuse}
	case conformance.Proper:
	}
	b := homeassistant.New(o)
	w.t.Cleanup(b.Close)
	return b
}

func (w *world) Secrets() []string { return []string{w.server.Token(), wrongToken} }

func (w *world) Private() chat.Target { return chat.Target{Chat: homeassistant.Chat} }

func (w *world) Group() chat.Target { return chat.Target{} }

func (w *world) Crowd(int) []chat.Target {
	w.t.Fatal("a house has one place")
	return nil
}

// bots returns the bot's notifications in the chat with the id place. If place is "", bots returns the notifications
// in all chats.
func (w *world) bots(place string) []standin.Notification {
	return slices.DeleteFunc(w.server.History(place), func(n standin.Notification) bool { return !n.FromBot })
}

func (w *world) Shown(chat.Target) []string {
	var texts []string
	for _, n := range w.bots(standin.Panel) {
		if n.Alive() {
			texts = append(texts, n.Text())
		}
	}
	return texts
}

func (w *world) Files(chat.Target) []conformance.File { return nil }

func (w *world) Drafts(chat.Target) []string { return nil }

func (w *world) Calls(op chat.Op) int {
	n := 0
	for _, c := range w.server.Calls() {
		if op == chat.OpSend && c.Method == createAction {
			n++
		}
	}
	return n
}

func (w *world) Break(_ chat.Op, f conformance.Fault) {
	e := f.OnCall()
	if f == conformance.RateLimit { // the 429 comes from a proxy
		e.Action, e.Status = fault.Status, http.StatusTooManyRequests
	}
	w.server.Fault(standin.Fault{Method: createAction, Times: 1, Action: e.Action, Status: e.Status, RetryAfter: e.RetryAfter.Seconds()})
}

func (w *world) BreakFetch(conformance.Fault) {}

func (w *world) Enforce(conformance.Rates) {} // Home Assistant has no rate limits

func (w *world) Violations() []string {
	var list []string
	for _, v := range w.server.Stats().Violations.Details {
		list = append(list, fmt.Sprintf("%s: %s: %s", v.Method, v.Kind, v.Detail))
	}
	return list
}

func (w *world) Refusals() int {
	st := w.server.Stats()
	return st.TooManyRequests - st.Forced
}

func (w *world) Versions(chat.Target) []conformance.Version {
	var list []conformance.Version
	for _, n := range w.bots(standin.Panel) {
		for _, v := range n.Versions {
			list = append(list, conformance.Version{At: v.At, Message: n.ID, Text: v.Text})
		}
	}
	return conformance.InOrder(list)
}

func (w *world) Pings(chat.Target) []string { return nil }

func (w *world) Opened(chat.Target) []string { return nil }

func (w *world) Unpreviewed() bool { return true }

func (w *world) Sample() string { return sample }

// Say first adds an entity, which the bot must not report, and then changes the entity's state, which the bot must
// report.
func (w *world) Say(_ chat.Target, s conformance.Saying) {
	w.t.Helper()
	w.said++
	entity := fmt.Sprintf("input_text.said%d", w.said)
	w.server.SetState(standin.Change{Entity: entity, State: "nothing"})
	w.server.SetState(standin.Change{Entity: entity, State: s.Text})
}

func (w *world) Said(text string) string {
	_, said, _ := strings.Cut(text, " changed from nothing to ")
	return strings.TrimSuffix(said, ".")
}

func (w *world) Attach(chat.Target, conformance.File, int64) {}

func (w *world) Menu(chat.Target) []string { return nil }

func (w *world) MenuChanges() int { return 0 }

func (w *world) Remove(ref chat.MessageRef) {
	w.t.Helper()
	if !w.server.Dismiss(string(ref.ID)) {
		w.t.Fatalf("there is no notification %+v", ref)
	}
}

func (w *world) Ban(chat.Target) {
	w.server.Fault(standin.Fault{Method: createAction, Action: fault.Status, Status: http.StatusForbidden})
}

func (w *world) Garble() { w.server.CutSockets() }
