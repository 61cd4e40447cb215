package main

import (
	"slices"
	"strings"
	"testing"

	"telex/standin/openai"
	"telex/standin/telegram"
)

func TestAccess(t *testing.T) {
	t.Parallel()
	const group, otherGroup = -2002, -2003
	// Each person says a different text.
	says := []telegram.Incoming{
		{User: 11, Text: "say: private eleven"},
		{User: 12, Text: "say: private twelve"},
		{Chat: group, User: 11, Text: mentionsUs + "say: group eleven"},
		{Chat: group, User: 12, Text: mentionsUs + "say: group twelve"},
		{Chat: otherGroup, User: 12, Text: mentionsUs + "say: other group twelve"},
	}
	for _, c := range []struct {
		access string
		want   []string // the messages that the bot must answer
	}{
		{access: "{}"},
		{access: "{default: deny, allow: []}"},
		{access: `{allow: ["telegram:user:11"]}`, want: []string{"private eleven", "group eleven"}},
		{access: `{admins: ["telegram:user:11"]}`, want: []string{"private eleven", "group eleven"}},
		{access: `{allow: ["telegram:chat:-2002"]}`, want: []string{"group eleven", "group twelve"}},
		{
			access: `{allow: ["telegram:*"]}`,
			want:   []string{"private eleven", "private twelve", "group eleven", "group twelve", "other group twelve"},
		},
	} {
		t.Run(c.access, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, telegram.Options{}, openai.Options{})
			// In every case, the person who writes last has access. The answer to the last message shows that all earlier
			// messages were handled.
			access := "{default: deny, admins: [\"telegram:user:99\"]}"
			if c.access != "{}" {
				access = strings.TrimSuffix(c.access, "}") + ", default: deny}"
			}
			if strings.Contains(c.access, "default") {
				access = c.access
			}
			p := w.daemon(sections{access: access, more: "log: {level: debug}"})
			for _, in := range says {
				w.telegram.Say(in)
			}
			refusals := len(says) - len(c.want)
			p.awaitLog("message refused", refusals)
			p.awaitLog("turn ended", len(c.want))
			var answered []string
			for _, in := range says {
				_, text, _ := strings.Cut(in.Text, "say: ")
				chat := in.Chat
				if chat == 0 {
					chat = in.User
				}
				if slices.Contains(w.texts(chat), text) {
					answered = append(answered, text)
				}
				if strings.Contains(p.stderr.String(), text) {
					t.Errorf("the log holds the text %q", text)
				}
			}
			if !slices.Equal(answered, c.want) {
				t.Errorf("answered: %q, want %q", answered, c.want)
			}
			if n := len(w.model.Requests()); n != len(c.want) {
				t.Errorf("the model was asked %d times, want %d", n, len(c.want))
			}
			if got := w.telegram.Stats().Messages; got != len(c.want) {
				t.Errorf("%d messages were sent, want %d", got, len(c.want))
			}
		})
	}
}

// The bot refuses a command from a stranger like any other message.
func TestStrangersCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{access: "{default: deny}"})
	w.ask("/help")
	refused := p.awaitLog("message refused", 1)[0]
	if refused.text("allow_with") != "telegram:user:1001" || refused.text("conversation") != "telegram:1001" {
		t.Errorf("the log says %v, want who and where, so that the operator can let them in", refused)
	}
	p.stop()
	w.wantTexts(ada)
}
