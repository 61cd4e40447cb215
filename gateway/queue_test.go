package gateway_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

func TestSteeringReachesTheRunningTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Busy = gateway.Steer })
		h.answers["a"], h.calls = "one two three four", 1
		h.say(t, ask("a"))
		later(150 * time.Millisecond)
		h.say(t, ask("b"))
		h.say(t, ask("c"))
		later(5 * time.Second)
		equal(t, "messages", h.sees(), []string{"one two three four and b and c"})
		h.calls = 0
		h.say(t, ask("d"))
		later(150 * time.Millisecond)
		h.say(t, ask("e")) // no model call follows in this turn, so the message becomes the next turn
		later(5 * time.Second)
		equal(t, "messages", h.sees()[1:], []string{"re: d", "re: e"})
		equal(t, "the last turn", h.told(2), []string{
			"user: a", "user: b", "user: c", "assistant: one two three four and b and c",
			"user: d", "assistant: re: d", "user: e",
		})
	})
}

func TestOnlyTheAskerSteersInAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Busy = gateway.Steer })
		h.answers["a"], h.calls = "one two three four", 1
		h.say(t, inGroup(ask("a"), "1"))
		later(150 * time.Millisecond)
		h.say(t, inGroup(ask("b"), "2"))
		later(5 * time.Second)
		equal(t, "messages", h.sees(), []string{"one two three four", "re: b"})
	})
}

func TestStopDropsSteeringMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Busy = gateway.Steer })
		h.answers["a"] = strings.Repeat("word ", 100)
		h.say(t, ask("a"))
		later(3 * time.Second)
		h.say(t, ask("b"))
		h.say(t, command("stop"))
		later(5 * time.Second)
		equal(t, "questions", h.questions(), []string{"a"})
	})
}

func TestMessagesThatCameTogetherAreOneQuestion(t *testing.T) {
	photo := func(id, caption string) chat.Inbound {
		in := ask(caption)
		in.Attachments = []chat.Attachment{{ID: id}}
		return in
	}
	more := func(in chat.Inbound) chat.Inbound { in.More = true; return in }
	for _, c := range []struct {
		name string
		busy gateway.Busy
		gap  time.Duration
		sent []chat.Inbound
		want []string
	}{
		{"a split paste", gateway.Queue, 300, []chat.Inbound{more(ask("a")), more(ask("b")), ask("c")}, []string{"a\n\nb\n\nc"}},
		{"pieces that are apart", gateway.Queue, 1500, []chat.Inbound{more(ask("a")), ask("b")}, []string{"a", "b"}},
		{"an album", gateway.Queue, 300, []chat.Inbound{more(photo("1", "look")), more(photo("2", ""))}, []string{"look"}},
		{"pictures, then words", gateway.Queue, 800, []chat.Inbound{photo("1", ""), photo("2", ""), ask("look")}, []string{"look"}},
		{"texts", gateway.Queue, 1, []chat.Inbound{ask("a"), ask("b"), ask("c")}, []string{"a", "b", "c"}},
		{"an album, where the new interrupts", gateway.Interrupt, 300, []chat.Inbound{more(photo("1", "look")), photo("2", "")}, []string{"look"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := open(t, func(o *gateway.Options) { o.Busy = c.busy })
				h.files = map[string][]byte{"1": picture(t), "2": picture(t)}
				for i, in := range c.sent {
					if i > 0 {
						later(c.gap * time.Millisecond)
					}
					h.say(t, in)
				}
				later(20 * time.Second)
				equal(t, "questions", h.questions(), c.want)
				if want := len(c.sent) - len(c.want); strings.Contains(c.want[0], "look") && len(h.turns[0].Messages[0].Images) < min(2, want) {
					t.Errorf("got %d pictures", len(h.turns[0].Messages[0].Images))
				}
			})
		})
	}
}

func TestAThousandMessagesAtOnce(t *testing.T) {
	for _, busy := range []gateway.Busy{gateway.Interrupt, gateway.Queue, gateway.Steer} {
		synctest.Test(t, func(t *testing.T) {
			h := open(t, func(o *gateway.Options) {
				o.Busy, o.MaxQueued = busy, 20
				o.Limits = access.Limits{TurnsPerMinute: 10}
			})
			for range 1000 {
				h.say(t, ask("hi"))
			}
			later(time.Minute)
			if n := len(h.questions()); n == 0 || n > 10 {
				t.Errorf("busy %v: %d turns", busy, n)
			}
			full := 0
			for _, m := range h.sees() {
				if strings.HasPrefix(m, "Too many messages are waiting") {
					full++
				}
			}
			if full != 1 {
				t.Errorf("busy %v: told %d times that the queue is full", busy, full)
			}
		})
	}
}

func TestLimitsAreExplainedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) {
			o.Busy, o.Limits = gateway.Queue, access.Limits{TurnsPerMinute: 2, TokensPerDay: 1000}
		})
		h.result = func(r *agent.Result) { r.Usage = agent.Usage{Prompt: 300} }
		for range 5 {
			h.say(t, ask("hi"))
			later(time.Second)
		}
		h.say(t, command("help")) // commands do not count as turns
		later(time.Second)
		got := h.sees()
		if len(got) != 4 || !strings.HasPrefix(got[2], "That was a lot") || !strings.HasPrefix(got[3], "Write to me") {
			t.Fatalf("got %q, want two answers, one line, and help", got)
		}
		for range 4 {
			later(2 * time.Minute)
			h.say(t, ask("hi"))
			later(5 * time.Second)
		}
		got = h.sees()[4:]
		if len(got) != 4 || !strings.HasPrefix(got[2], "You've reached today's limit") {
			t.Errorf("got %q, want two more answers and the line", got)
		}
		if n := len(h.questions()); n != 4 {
			t.Errorf("%d turns ran, want 4", n)
		}
	})
}

func TestOtherBotsAreIgnoredUnlessTheyAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) {
			o.Access = access.Rules{Open: true, Allow: []access.Rule{{Endpoint: "tg", User: "bot2"}}}
		})
		for _, id := range []chat.UserID{"bot1", "bot2"} {
			in := ask("from " + string(id))
			in.Sender = chat.Sender{ID: id, Bot: true}
			h.say(t, in)
			later(3 * time.Second)
		}
		equal(t, "messages", h.sees(), []string{"re: from bot2"})
	})
}

func TestAMessageThatIsTooLongIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		h := open(t, func(o *gateway.Options) { o.Store = store })
		h.say(t, ask(strings.Repeat("x", 65<<10)))
		later(time.Second)
		equal(t, "messages", h.sees(), []string{"This is too long for me. Please send it in smaller pieces."})
		if len(h.questions()) != 0 {
			t.Error("the model was asked")
		}
	})
}

// hears is a transcriber with a fixed result.
type hears string

func (h hears) Transcribe(context.Context, string, []byte) (string, error) {
	return string(h), nil
}

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAttachmentsAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.files = map[string][]byte{
			"pic": picture(t), "txt": []byte("line one\nline two"), "zip": []byte("\x7fELF\x02\x01\x00\x00"), "ogg": []byte("OggS\x00\x02"),
			"big": make([]byte, 21<<20),
		}
		at := func(id, name string) chat.Attachment { return chat.Attachment{ID: id, Name: name} }
		in := ask("what is this?")
		in.Attachments = []chat.Attachment{
			at("pic", "a.png"), at("txt", "b.txt"), at("zip", "c.bin"), at("big", "d.bin"), at("gone", "e.png"), {Name: "location"},
		}
		h.say(t, in)
		later(5 * time.Second)
		m := h.turns[0].Messages[0]
		if len(m.Images) != 1 || m.Images[0].MediaType != "image/png" {
			t.Errorf("got images %v", m.Images)
		}
		for _, want := range []string{
			"what is this?", ": b.txt]\nline one\nline two\n[end of file ",
			"[attached: c.bin, which you are not shown: this kind of file can't be read here]",
			"[attached: d.bin, which you are not shown: it is too large]",
			"[attached: e.png, which you are not shown: it could not be fetched]",
			"[attached: location, which you are not shown: this kind can't be read here]",
		} {
			if !strings.Contains(m.Text, want) {
				t.Errorf("the question lacks %q:\n%s", want, m.Text)
			}
		}
		for _, c := range []struct {
			files []chat.Attachment
			want  string
		}{
			{[]chat.Attachment{at("zip", "c.bin")}, "I could not read c.bin (this kind of file can't be read here)."},
			{[]chat.Attachment{at("ogg", "voice.ogg")}, "I can't listen to this here."},
			{[]chat.Attachment{{Name: "location"}}, "I could not read location (this kind can't be read here)."},
		} {
			in := ask("")
			in.Attachments = c.files
			h.say(t, in)
			later(3 * time.Second)
			if got := h.sees(); !strings.HasPrefix(got[len(got)-1], c.want) {
				t.Errorf("%v: got %q, want %q", c.files, got[len(got)-1], c.want)
			}
		}
		if n := len(h.questions()); n != 1 {
			t.Errorf("the model was asked %d times, want once", n)
		}
	})
}

func TestVoiceMessagesAreTranscribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Hear = hears("how are you?") })
		h.files = map[string][]byte{"ogg": []byte("OggS\x00\x02")}
		in := ask("")
		in.Attachments = []chat.Attachment{{ID: "ogg", Name: "voice.ogg", MediaType: "audio/ogg"}}
		h.say(t, in)
		later(5 * time.Second)
		equal(t, "messages", h.sees(), []string{"re: how are you?"})
	})
}

// A person stops a turn with /stop. The tokens of the interrupted turn must be counted.
func TestUsageOfAnInterruptedTurnCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		h := open(t, func(o *gateway.Options) { o.Store = store })
		h.answers["a"] = strings.Repeat("word ", 100)
		h.interrupted = func(r *agent.Result) { // interrupted during the turn's second model call
			r.Usage, r.EstimatedPrompt, r.EstimatedCompletion, r.Estimate = agent.Usage{Prompt: 100, Completion: 7}, 400, 33, 40
		}
		h.say(t, ask("a"))
		later(5 * time.Second)
		h.say(t, command("stop"))
		later(5 * time.Second)
		used, err := store.Used(t.Context(), chat.UsageOf{})
		if err != nil || used.Prompt != 500 || used.Completion != 40 || !used.Estimated || used.Turns != 1 {
			t.Errorf("got %+v, %v", used, err)
		}
	})
}

// In a group, a chat app splits a long pasted text into pieces. Only the first piece mentions the bot. The pieces must
// form one question, without the messages of other people between them.
func TestAPasteInAGroupIsOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		for _, p := range []struct {
			text      string
			user      chat.UserID
			addressed bool
			more      bool
			gap       time.Duration
		}{
			{"one", "1", true, true, 0},
			{"chatter", "2", false, true, 100},
			{"two", "1", false, true, 100},
			{"three", "1", false, false, 300},
			{"later", "1", false, false, 1500},
		} {
			later(p.gap * time.Millisecond)
			in := inGroup(ask(p.text), p.user)
			in.Addressed, in.More = p.addressed, p.more
			h.say(t, in)
		}
		later(5 * time.Second)
		equal(t, "questions", h.questions(), []string{"one\n\ntwo\n\nthree"})
	})
}

// A question of many pieces must count as one waiting question. If the pieces are too long together, the sender must
// get only one line about this.
func TestPiecesOfAQuestionCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.MaxQueued = 1 })
		h.answers[strings.Repeat(strings.Repeat("a", 4000)+"\n\n", 4)+strings.Repeat("a", 4000)] = "yes"
		for i := range 5 {
			in := ask(strings.Repeat("a", 4000))
			in.More = i < 4
			h.say(t, in)
			later(100 * time.Millisecond)
		}
		later(5 * time.Second)
		if q := h.questions(); len(q) != 1 || len(q[0]) != 5*4000+4*2 {
			t.Fatalf("got %d questions, want one of five pieces", len(q))
		}
		for range 30 { // 120 KB in total, more than a question may have
			in := ask(strings.Repeat("x", 4000))
			in.More = true
			h.say(t, in)
		}
		later(5 * time.Second)
		if got := h.sees()[1:]; len(got) != 1 || !strings.HasPrefix(got[0], "This is too long for me.") {
			t.Errorf("got %.300q, want one line", got)
		}
	})
}

// One person sends many messages. The gateway must merge these messages into questions that fit the model's context window.
func TestManyMessagesBecomeQuestionsThatFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Models, o.MaxQueued = models(), 20 })
		for range 20 {
			h.say(t, ask(strings.Repeat("x", 1500)))
		}
		later(time.Minute)
		for _, q := range h.questions() {
			if len(q) > 4000 {
				t.Errorf("a question has %d bytes", len(q))
			}
		}
	})
}

// A question is too long for the model. The history must not keep this question, which the model can't read.
func TestTooLongQuestionIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say(t, ask("a"))
		later(3 * time.Second)
		h.result = func(r *agent.Result) { r.Text, r.Stop, r.Append = "Too long.", agent.StopTooLong, nil }
		h.say(t, ask("b"))
		later(3 * time.Second)
		h.result = nil
		h.say(t, ask("c"))
		later(3 * time.Second)
		equal(t, "the last turn", h.told(2), []string{"user: a", "assistant: re: a", "user: c"})
		equal(t, "messages", h.sees(), []string{"re: a", "Too long.", "re: c"})
	})
}

// A turn becomes too long for the model after tools have run. The history must keep the tool calls, and people must get
// the tools' files.
func TestTooLongAfterToolsKeepsTheirResults(t *testing.T) {
	for _, stop := range []agent.StopReason{agent.StopTooLong, agent.StopNoRoom} {
		synctest.Test(t, func(t *testing.T) {
			h := open(t, nil)
			call := agent.ToolCall{ID: "1", Name: "plot", Arguments: "{}"}
			h.result = func(r *agent.Result) {
				r.Text, r.Stop = "Let me see.\n\nToo long.", stop
				r.Append = []agent.Message{{Role: agent.Assistant, Text: "Let me see.", ToolCalls: []agent.ToolCall{call}}, {Role: agent.ToolRole, ToolCallID: "1", Name: "plot", Text: "done"}}
				r.Files = []agent.File{{Name: "plot.txt", MediaType: "text/plain", Content: []byte("plot")}}
			}
			h.say(t, ask("a"))
			later(3 * time.Second)
			h.result = nil
			h.say(t, ask("b"))
			later(3 * time.Second)
			equal(t, "the last turn", h.told(1), []string{"user: a", "assistant: Let me see.", "tool: done", "user: b"})
			if got := h.sees(); len(got) < 2 || got[0] != "Let me see.\n\nToo long.\n\nI could not send plot.txt here." || got[len(got)-1] != "re: b" {
				t.Errorf("%s: sees %q", stop, got)
			}
		})
	}
}
