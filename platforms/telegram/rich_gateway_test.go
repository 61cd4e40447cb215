package telegram_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/store/memory"
	"telex/platforms/conformance"
	"telex/platforms/telegram"
	"telex/standin/fault"
	standin "telex/standin/telegram"
)

// tabled is an answer with a table and tasks. The constants other than tabled are texts that people see while tabled
// grows.
const (
	tabled      = "Some words before the table, so that they are shown first.\n\n| Name | Size |\n|---|--:|\n| ant | 1 |\n\n- [x] done\n\nThat is all there is to say about **ants** and their sizes."
	tabledPlain = "Some words before the table, so that they are shown first.\n\nName  Size\n----  ----\nant      1\n\n☑ done\n\nThat is all there is to say about ants and their sizes."
	tabledRich  = "Some words before the table, so that they are shown first.\n\nName  Size\nant  1\n\n☑ done\n\nThat is all there is to say about ants and their sizes."
)

// connectRich returns a new adapter of the world. The adapter uses rich messages as r says.
func (w *world) connectRich(r telegram.Rich) conformance.Adapter {
	w.rich = r
	return w.Connect(slog.New(slog.DiscardHandler), conformance.Proper)
}

// blocks returns the types of the blocks in the bot's newest message.
func (w *world) blocks() string {
	var types []string
	list := w.server.View(privateID, time.Now())
	for _, b := range list[len(list)-1].Last().Rich {
		types = append(types, b.Type)
	}
	return strings.Join(types, " ")
}

// With RichAuto, an answer must begin as a text with entities and become a rich message when its table begins. An
// answer without a table must stay a text.
func TestRichAutoEndToEnd(t *testing.T) {
	for name, transport := range map[string]preview.Transport{"edits": preview.Edit, "drafts": preview.Draft} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world, _ conformance.Adapter) {
				w.server.SetLimits(standin.PublishedLimits(), standin.Limits{})
				house(t, w, w.connectRich(telegram.RichAuto), memory.New(), conformance.Talker{Text: tabled, Pause: 300 * time.Millisecond}, transport)
				w.server.Say(standin.Incoming{User: privateID, Text: "go"})
				time.Sleep(time.Minute)
				if got := w.Shown(w.Private()); len(got) != 1 || got[0] != tabledRich {
					t.Errorf("shown are %q, want %q once", got, tabledRich)
				}
				if got := w.blocks(); got != "paragraph table list paragraph" {
					t.Errorf("the blocks are %s", got)
				}
				st := w.server.Stats()
				if transport == preview.Edit && (st.ByMethod["sendMessage"] != 1 || st.ByMethod["sendRichMessage"] != 0) ||
					transport == preview.Draft && (st.ByMethod["sendMessageDraft"] == 0 || st.ByMethod["sendRichMessageDraft"] == 0 || st.ByMethod["sendMessage"] != 0) {
					t.Errorf("calls are %v", st.ByMethod)
				}
				if st.Violations.Total() != 0 || st.TooManyRequests != 0 {
					t.Errorf("violations %+v, want none", st.Violations)
				}
			})
		})
	}
	t.Run("no table", func(t *testing.T) {
		inBubble(t, func(t *testing.T, w *world, _ conformance.Adapter) {
			house(t, w, w.connectRich(telegram.RichAuto), memory.New(), conformance.Talker{Text: "**Bold** words and `code` are all."}, preview.Edit)
			w.server.Say(standin.Incoming{User: privateID, Text: "go"})
			time.Sleep(time.Minute)
			if got := w.blocks(); got != "" || len(w.Shown(w.Private())) != 1 {
				t.Errorf("the blocks are %s, want a text", got)
			}
		})
	})
}

// In this test, a server that does not support rich messages refuses the bot's first rich message. After the server has
// refused the rich message, the bot must show the whole answer once, as a text with entities. After the server has
// refused a rich message, the bot must send no more rich messages, even if the server would accept rich messages.
func TestServerWithoutRichMessages(t *testing.T) {
	for _, rich := range []telegram.Rich{telegram.RichAuto, telegram.RichAlways} {
		for name, transport := range map[string]preview.Transport{"edits": preview.Edit, "drafts": preview.Draft} {
			t.Run(string(rich)+" "+name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world, _ conformance.Adapter) {
					w.server.SetLimits(standin.PublishedLimits(), standin.Limits{})
					w.server.SetRich(false)
					bot := w.connectRich(rich)
					house(t, w, bot, memory.New(), conformance.Talker{Text: tabled, Pause: 300 * time.Millisecond}, transport)
					w.server.Say(standin.Incoming{User: privateID, Text: "go"})
					time.Sleep(time.Minute)
					w.server.SetRich(true)
					w.server.Say(standin.Incoming{User: privateID, Text: "again"})
					time.Sleep(time.Minute)
					got := w.Shown(w.Private())
					if len(got) != 2 || got[0] != tabledPlain || got[1] != tabledPlain || w.blocks() != "" {
						t.Errorf("shown are %q, want %q twice", got, tabledPlain)
					}
					for _, m := range w.server.History(privateID) {
						if v := m.Last(); m.FromBot && (len(v.Entities) != 2 || v.Entities[0].Type != "pre" || v.Entities[1].Type != "bold") {
							t.Errorf("the entities are %+v, want the table as code, and bold", v.Entities)
						}
					}
					st := w.server.Stats()
					tries := 0
					for _, c := range w.server.Calls() {
						if c.Status != 200 && c.Method != "getUpdates" {
							tries++
						}
					}
					if tries != 1 || st.Violations.Total() != 0 {
						t.Errorf("%d calls were refused, want one: %v", tries, st.ByMethod)
					}
					if n := bot.Profile(w.Private()).TextLimit; n != 4096 {
						t.Errorf("the text limit is %d", n)
					}
				})
			})
		}
	}
}

// If the server does not support rich messages, the bot must send a long answer as several texts, which contain the
// whole answer once.
func TestLongAnswerWithoutRichMessages(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, _ conformance.Adapter) {
		w.server.SetRich(false)
		text := words(1500)
		house(t, w, w.connectRich(telegram.RichAlways), memory.New(), conformance.Talker{Text: text, Pause: time.Millisecond}, preview.Edit)
		w.server.Say(standin.Incoming{User: privateID, Text: "go"})
		time.Sleep(5 * time.Minute)
		if got := w.Shown(w.Private()); len(got) > 5 || !strings.HasPrefix(text, got[0]) {
			t.Errorf("%d messages: %.300q", len(got), got)
		}
	})
}

// If the server supports rich messages but refuses one rich message, the bot must send the content of this message once
// more as plain text.
func TestRefusedRichMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, _ conformance.Adapter) {
		w.server.Fault(standin.Fault{Method: "sendRichMessage", Action: fault.Status, Status: 400, Description: "Bad Request: RICH_MESSAGE_INVALID"})
		house(t, w, w.connectRich(telegram.RichAlways), memory.New(), conformance.Talker{Text: tabled, Pause: time.Microsecond}, preview.Edit)
		w.server.Say(standin.Incoming{User: privateID, Text: "go"})
		time.Sleep(time.Minute)
		if got := w.Shown(w.Private()); len(got) != 1 || got[0] != tabledPlain {
			t.Errorf("shown are %q, want %q once", got, tabledPlain)
		}
	})
}

// If the response to a create call is lost, the call was not refused, so the bot must not send plain text instead.
func TestUncertainRichMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, _ conformance.Adapter) {
		bot := w.connectRich(telegram.RichAlways)
		w.server.Fault(standin.Fault{Method: "sendRichMessage", Times: 1, Action: fault.CutAfter})
		m := chat.Outgoing{Text: "x", Plain: "x", Spans: []chat.Span{{Kind: "rich", Length: 1}}}
		if _, err := bot.Send(t.Context(), w.Private(), m); kindOf(err) != chat.Uncertain {
			t.Errorf("Send = %v, want an unknown outcome", err)
		}
		if _, err := bot.Send(t.Context(), w.Private(), m); err != nil || w.blocks() != "paragraph" {
			t.Errorf("Send = %v, the blocks are %q", err, w.blocks())
		}
	})
}
