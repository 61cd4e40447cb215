package slack_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/store/memory"
	"telex/platforms/conformance"
	"telex/platforms/slack"
	"telex/standin/fault"
	standin "telex/standin/slack"
)

// The tests in this file check the pane in which people talk with the app.

// pane is what a person sees in an assistant's thread.
type pane struct {
	texts    []string // texts of the bot's messages, except for the message that starts the thread
	title    string
	heading  string
	prompts  []standin.Prompt
	statuses int
	session  string
}

func (w *world) pane(thread string) pane {
	h := w.server.Chronicle(dm)
	p := pane{title: h.Titles[thread], session: h.Sessions[thread]}
	s := w.server.Screen(dm, time.Now())
	for _, m := range s.In(thread) {
		if m.FromBot && m.Subtype == "" {
			p.texts = append(p.texts, m.Shown())
		}
	}
	for _, one := range s.Prompts {
		if one.Thread == thread {
			p.prompts, p.heading = one.List, one.Title
		}
	}
	p.statuses = len(s.Statuses)
	return p
}

const readHello = "Hi! How can I help?"

// In this test, a person opens the pane. The bot must greet the person only once and offer prompts, although Slack
// reports the opening repeatedly and the bot restarts. When the person selects a prompt, the bot must answer with a
// stream and give the thread a title. After the answer, no status may remain below the thread.
func TestPaneOfAnAssistant(t *testing.T) {
	inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		store, model := memory.New(), conformance.Talker{Text: words(40), Pause: 50 * time.Millisecond}
		stop := house(t, bot, store, model, preview.Native)
		w.server.Fault(standin.Fault{Method: "event", Action: standin.ActDuplicate})
		thread := w.server.OpenAssistant(person)
		time.Sleep(3 * time.Second)
		if p := w.pane(thread); strings.Join(p.texts, "|") != readHello || len(p.prompts) != gateway.MaxPrompts || p.heading != "" || p.title != "" {
			t.Errorf("the opened pane: got %+v", p)
		}
		stop()
		house(t, w.bot(slog.New(slog.DiscardHandler), conformance.Proper), store, model, preview.Native)
		w.server.MoveAssistant(person, thread, channel)
		time.Sleep(6 * time.Minute) // wait until Slack delivers the events no more
		if w.server.PressPrompt(person, thread, "What can you do?") == "" {
			t.Fatalf("there is no such prompt: %+v", w.pane(thread))
		}
		time.Sleep(1500 * time.Millisecond)
		if got := w.Streaming(chat.Target{Chat: dm, Thread: chat.ThreadID(thread)}); len(got) != 1 {
			t.Errorf("streaming are %q, want the answer", got)
		}
		time.Sleep(10 * time.Second)
		p := w.pane(thread)
		if len(p.texts) != 2 || p.texts[0] != readHello || p.texts[1] != words(40) || p.title != "What can you do?" || len(p.prompts) != 0 {
			t.Errorf("after the answer: got %+v", p)
		}
		if p.statuses != 0 || p.session != standin.SessionActive || w.server.Stats().Streams != 1 {
			t.Errorf("after the answer: %d statuses, session %q, %d streams, want 0, active and 1", p.statuses, p.session, w.server.Stats().Streams)
		}
		w.server.Say(standin.Incoming{User: person, Thread: thread, Text: "another question"})
		time.Sleep(10 * time.Second)
		if p := w.pane(thread); p.title != "What can you do?" || len(p.texts) != 3 {
			t.Errorf("after a second question: got %+v", p)
		}
		w.wantGood()
	})
}

// In the Messages tab of an agent, the bot must show prompts, with the greeting as their heading. The bot must post no
// message, no matter how often the person opens the Messages tab. Outside of threads, the bot must show an answer with
// edits, not with a stream.
func TestPaneOfAnAgent(t *testing.T) {
	inBubble(t, standin.Options{Agent: true, Limits: standin.PublishedLimits()}, true, func(t *testing.T, w *world, bot *slack.Bot) {
		house(t, bot, memory.New(), conformance.Talker{Text: words(40)}, preview.Native)
		for range 3 {
			w.server.OpenHome(person)
			time.Sleep(2 * time.Second)
		}
		if p := w.pane(""); len(p.texts) != 0 || p.heading != readHello || len(p.prompts) != gateway.MaxPrompts {
			t.Errorf("the opened tab: got %+v", p)
		}
		w.server.PressPrompt(person, "", "What can you do?")
		time.Sleep(10 * time.Second)
		if p := w.pane(""); len(p.texts) != 1 || p.texts[0] != words(40) || w.server.Stats().Streams != 0 {
			t.Errorf("answered: got %+v and %d streams", p, w.server.Stats().Streams)
		}
		root := w.server.Say(standin.Incoming{User: person, Text: "a question"})
		w.server.Say(standin.Incoming{User: person, Text: "  What is\n a thread?  ", Thread: root})
		time.Sleep(20 * time.Second)
		if p := w.pane(root); p.title != "What is" || len(p.texts) != 1 || w.server.Stats().Streams != 1 {
			t.Errorf("answered in a thread: got %+v and %d streams", p, w.server.Stats().Streams)
		}
		w.wantGood()
	})
}

// In this test, a person without access opens the pane. The bot must show no prompts to a person without access.
// Depending on the access policy, the bot must show nothing at all, or send a pairing code, as if the person had
// written a message.
func TestPaneOfAStranger(t *testing.T) {
	for name, pair := range map[string]bool{"refused": false, "with a code": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
				conformance.Start(t, gateway.Options{
					Endpoints: []gateway.Endpoint{{ID: "slack", Platform: bot, Streaming: preview.Config{Enabled: true}}},
					Runner:    conformance.Talker{}, Store: memory.New(), Access: access.Rules{Pair: pair}, MaxQueued: 10,
					MaxAge: time.Hour, Grace: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
				})
				time.Sleep(time.Second)
				w.server.OpenHome(person)
				thread := w.server.OpenAssistant(person)
				time.Sleep(10 * time.Second)
				p := w.pane(thread)
				if got := len(p.texts); got != 0 && !pair || pair && (got != 1 || !strings.Contains(p.texts[0], "Your code is")) {
					t.Errorf("got %+v", p)
				}
				if all := w.pane(""); len(p.prompts)+len(all.prompts)+len(all.texts) != 0 {
					t.Errorf("prompts: got %+v and %+v, want none", p, all)
				}
			})
		})
	}
}

// In this test, a person presses Slack's own stop button. When the person presses the stop button, the answer must end
// and keep its text, and Slack must no longer show that the bot is working.
func TestSlacksStopButton(t *testing.T) {
	for name, transport := range map[string]preview.Transport{"stream": preview.Native, "edits": preview.Edit} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
				house(t, bot, memory.New(), conformance.Talker{Text: words(100)}, transport)
				thread := w.server.OpenAssistant(person)
				w.server.Say(standin.Incoming{User: person, Thread: thread, Text: "go"})
				time.Sleep(4 * time.Second)
				if !w.server.StopSession(dm, person, thread) {
					t.Fatalf("there is no stop button: %+v", w.pane(thread))
				}
				time.Sleep(30 * time.Second)
				p := w.pane(thread)
				if len(p.texts) != 2 || !strings.HasPrefix(p.texts[1], "word0 word1") || !strings.HasSuffix(p.texts[1], "\n(stopped)") || strings.Contains(p.texts[1], "▌") {
					t.Errorf("stopped: got %q", p.texts)
				}
				if p.session != standin.SessionActive || p.statuses != 0 || len(w.Streaming(chat.Target{Chat: dm, Thread: chat.ThreadID(thread)})) != 0 {
					t.Errorf("stopped: got %+v", p)
				}
				w.wantGood()
			})
		})
	}
}

// In this test, the calls for prompts, titles and statuses fail. Even if prompts, titles and statuses fail, the bot
// must greet and answer.
func TestPaneFails(t *testing.T) {
	for _, action := range []string{fault.RateLimit, fault.CutBefore, fault.Hang} {
		t.Run(action, func(t *testing.T) {
			inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
				house(t, bot, memory.New(), conformance.Talker{}, preview.Native)
				for _, method := range []string{"setSuggestedPrompts", "setTitle", "setStatus"} {
					w.server.Fault(standin.Fault{Method: "assistant.threads." + method, Action: action, RetryAfter: 30})
				}
				thread := w.server.OpenAssistant(person)
				time.Sleep(5 * time.Second)
				w.server.Say(standin.Incoming{User: person, Thread: thread, Text: "hello"})
				time.Sleep(2 * time.Minute)
				if p := w.pane(thread); strings.Join(p.texts, "|") != readHello+"|re: hello" {
					t.Errorf("got %+v", p)
				}
				synctest.Wait()
				w.wantGood()
			})
		})
	}
}
