package telegram_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"telex/gateway/preview"
	"telex/internal/store/memory"
	"telex/platforms/conformance"
	"telex/standin/fault"
	standin "telex/standin/telegram"
)

// If a message waits because the bot is answering an earlier message, it must have the bot's reaction until its turn
// begins or the gateway drops the message.
func TestWaitingMessagesAreMarked(t *testing.T) {
	for name, c := range map[string]struct {
		act  func(*world)
		want []string // the reactions that the bot must set on the second message, in order
	}{
		"until its turn":      {func(*world) {}, []string{"👀", ""}},
		"until it is dropped": {func(w *world) { w.server.Say(standin.Incoming{User: privateID, Text: "/stop"}) }, []string{"👀", ""}},
		"not where reactions are refused": {func(w *world) {
			w.server.Fault(standin.Fault{Method: "setMessageReaction", Action: fault.Status, Status: 400, Description: "Bad Request: REACTION_INVALID"})
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
				w.server.SetLimits(standin.PublishedLimits(), standin.Limits{})
				house(t, w, bot, memory.New(), conformance.Talker{Text: words(100)}, preview.Edit)
				w.server.Say(standin.Incoming{User: privateID, Text: "one"})
				time.Sleep(3 * time.Second)
				if strings.HasPrefix(name, "not") {
					c.act(w)
				}
				second := w.server.Say(standin.Incoming{User: privateID, Text: "two"})
				time.Sleep(3 * time.Second)
				if !strings.HasPrefix(name, "not") {
					c.act(w)
				}
				time.Sleep(time.Minute)
				var got []string
				for _, call := range w.server.Calls() {
					if call.Method != "setMessageReaction" || !call.Effect {
						continue
					}
					if call.MessageID != second {
						t.Errorf("message %d was marked, want only %d", call.MessageID, second)
					}
					emoji := ""
					if strings.Contains(call.Params["reaction"], "👀") {
						emoji = "👀"
					}
					got = append(got, emoji)
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("reactions %q, want %q", got, c.want)
				}
				if st := w.server.Stats(); st.Violations.Total() != 0 {
					t.Errorf("violations %+v, want none", st.Violations)
				}
				for _, m := range w.server.History(privateID) {
					if m.Reaction != "" {
						t.Errorf("%q is left on message %d", m.Reaction, m.ID)
					}
				}
			})
		})
	}
}
