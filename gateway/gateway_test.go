package gateway_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

var errStore = errors.New("disk full")

func TestAnswerGrowsAndBecomesFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.answers["hi"] = strings.Repeat("word ", 40) + "end"
		h.say(t, ask("hi"))
		later(10 * time.Second)
		equal(t, "messages", h.sees(), []string{h.answers["hi"]})
		versions := h.messages[0].versions
		if len(versions) < 4 {
			t.Errorf("got %d versions, want at least 4", len(versions))
		}
		for i, v := range versions[:len(versions)-1] {
			if !strings.HasSuffix(v, "▌") {
				t.Errorf("preview %d has no cursor: %q", i, v)
			}
		}
	})
}

func TestAccessIsCheckedBeforeAnythingIsStored(t *testing.T) {
	allow := access.Rules{Allow: []access.Rule{
		{Endpoint: "tg", User: "7"}, {Endpoint: "tg", Chat: "-5"}, {Endpoint: "other"},
	}}
	cases := []struct {
		name       string
		chat       chat.ChatID
		user       chat.UserID
		bot, quiet bool
		kind       chat.InboundKind
		want       bool
	}{
		{name: "listed person", chat: "7", user: "7", want: true},
		{name: "listed person in a group", chat: "-9", user: "7", want: true},
		{name: "anybody in a listed chat", chat: "-5", user: "8", want: true},
		{name: "stranger", chat: "8", user: "8"},
		{name: "stranger in an unlisted group", chat: "-9", user: "8"},
		{name: "another bot", chat: "-5", user: "8", bot: true},
		{name: "another bot that is listed itself", chat: "-5", user: "7", bot: true, want: true},
		{name: "not addressed", chat: "-5", user: "7", quiet: true},
		{name: "a button that is not ours", chat: "7", user: "7", kind: chat.Button},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log journal
				store := &spy{Store: memory.New()}
				h := open(t, func(o *gateway.Options) {
					o.Access, o.Store = allow, store
					o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				})
				in := ask("my secret words")
				in.To.Chat, in.Sender.ID, in.Sender.Bot, in.Addressed, in.Kind = c.chat, c.user, c.bot, !c.quiet, c.kind
				h.say(t, in)
				later(5 * time.Second)
				if got := len(h.sees()) > 0; got != c.want {
					t.Errorf("answered: got %v, want %v", got, c.want)
				}
				if got := store.accepted > 0; got != c.want {
					t.Errorf("stored: got %v, want %v", got, c.want)
				}
				if strings.Contains(log.String(), "secret") {
					t.Errorf("the text is in the log: %s", log.String())
				}
			})
		})
	}
}

// spy is a store that counts writes and can be made to fail.
type spy struct {
	*memory.Store
	accepted int
	fail     error
	failRead error
}

func (s *spy) Accept(ctx context.Context, c chat.Conversation, m chat.Inbound) (bool, error) {
	if s.fail != nil {
		return false, s.fail
	}
	s.accepted++
	return s.Store.Accept(ctx, c, m)
}

func (s *spy) Session(ctx context.Context, c chat.Conversation) (chat.Session, []chat.Entry, error) {
	if s.failRead != nil {
		return chat.Session{}, nil, s.failRead
	}
	return s.Store.Session(ctx, c)
}

func TestAMessageThatCannotBeStoredIsOfferedAgain(t *testing.T) { // F43
	synctest.Test(t, func(t *testing.T) {
		store := &spy{Store: memory.New(), fail: errStore}
		h := open(t, func(o *gateway.Options) { o.Store = store })
		err := h.accept(t.Context(), ask("hi"))
		if !errors.Is(err, errStore) {
			t.Fatalf("accept: got %v, want %v", err, errStore)
		}
		store.fail = nil
		h.say(t, ask("hi"))
		later(2 * time.Second)
		equal(t, "messages", h.sees(), []string{"re: hi"})
	})
}

func TestADuplicateIsAnsweredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		in := ask("hi")
		in.ID = "m1"
		for range 3 {
			h.say(t, in)
			later(2 * time.Second)
		}
		equal(t, "messages", h.sees(), []string{"re: hi"})
	})
}

func TestHistoryReachesTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say(t, ask("one"))
		later(2 * time.Second)
		h.say(t, ask("two"))
		later(2 * time.Second)
		var got []string
		for _, m := range h.turns[1].Messages {
			got = append(got, string(m.Role)+" "+m.Text)
		}
		equal(t, "history", got, []string{"user one", "assistant re: one", "user two"})
	})
}

// In later requests to the model, a summary must replace the messages that it covers. People must be told only once
// that there is a summary.
func TestSummaryReplacesOldMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Models = models() })
		folds := 0
		h.result = func(r *agent.Result) {
			if n := len(h.turns[len(h.turns)-1].Messages); n >= 5 {
				folds++
				r.Compaction = &agent.Compaction{Summary: "summary " + strconv.Itoa(folds), Messages: n - 3}
			}
		}
		for _, q := range []string{"a", "b", "c", "d", "e"} {
			h.say(t, ask(q))
			later(3 * time.Second)
		}
		h.say(t, command("status"))
		later(3 * time.Second)
		got := h.sees()
		if len(got) != 7 || got[3] != "Our conversation is long, so I now keep a summary of its beginning." {
			t.Errorf("got %q, want the answers, one line, and the status", got)
		}
		if !strings.Contains(got[6], "Summaries: 3") || !strings.Contains(got[6], "Messages: 4") {
			t.Errorf("status: got %q", got[6])
		}
		equal(t, "turn d", h.told(3), []string{"user: b", "assistant: re: b", "user: c", "assistant: re: c", "user: d"})
		equal(t, "turn e", h.told(4), []string{"user: c", "assistant: re: c", "user: d", "assistant: re: d", "user: e"})
		if s := []string{h.turns[2].Summary, h.turns[3].Summary, h.turns[4].Summary}; s[0] != "" || s[1] != "summary 1" || s[2] != "summary 2" {
			t.Errorf("summaries: got %q", s)
		}
	})
}

func TestFailureSaysSoWithAnIDThatFindsTheLogLine(t *testing.T) { // F08, D9
	synctest.Test(t, func(t *testing.T) {
		var log journal
		h := open(t, func(o *gateway.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		h.answers["hi"] = "some words came"
		h.script.stop["hi"] = agent.StopSilence
		h.say(t, ask("hi"))
		later(5 * time.Second)
		got := h.sees()[0]
		text, id, found := strings.Cut(got, "(error ")
		if !found || text != "some words came\n\n⚠️ The model stopped answering. " {
			t.Fatalf("got %q", got)
		}
		id = strings.TrimSuffix(id, ")")
		if !strings.Contains(log.String(), "turn="+id) || !strings.Contains(log.String(), "the model broke") {
			t.Errorf("log does not explain %s: %s", id, log.String())
		}
		h.say(t, ask("again"))
		later(5 * time.Second)
		if m := h.turns[1].Messages; len(m) != 3 || m[1].Text != "some words came" {
			t.Errorf("history: got %+v, want what the person saw without the note", m)
		}
	})
}

func TestEachStopReasonHasALine(t *testing.T) {
	for stop, want := range map[agent.StopReason]string{
		agent.StopTimeLimit: "took too long", agent.StopSilence: "stopped answering",
		agent.StopCalls: "too many steps", agent.StopError: "available right now", "": "went wrong",
	} {
		synctest.Test(t, func(t *testing.T) {
			h := open(t, nil)
			h.script.stop["hi"] = stop
			h.say(t, ask("hi"))
			later(3 * time.Second)
			if got := h.sees(); len(got) != 1 || !strings.Contains(got[0], want) {
				t.Errorf("%q: got %q, want a line with %q", stop, got, want)
			}
		})
	}
}

func TestAPanicEndsItsTurnOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		h := open(t, func(o *gateway.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		h.script.panics = true
		h.say(t, ask("hi"))
		later(3 * time.Second)
		if got := h.sees(); len(got) != 1 || !strings.Contains(got[0], "Something went wrong here. (error ") {
			t.Errorf("got %q, want the fixed line with an id", got)
		}
		if !strings.Contains(log.String(), "the agent broke") || !strings.Contains(log.String(), "person_test.go") {
			t.Errorf("log has no panic with its stack: %s", log.String())
		}
		h.script.panics = false
		h.say(t, ask("you there?"))
		later(3 * time.Second)
		equal(t, "last", h.sees()[1:], []string{"re: you there?"})
	})
}

func TestStorePanicIsReportedToPersonAndLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &spy{Store: memory.New(), failRead: errStore}
		h := open(t, func(o *gateway.Options) { o.Store = store })
		h.say(t, ask("hi"))
		later(15 * time.Second) // longer than the time for which the gateway tries to read the history
		if got := h.sees(); len(got) != 1 || !strings.Contains(got[0], "Something went wrong here.") {
			t.Errorf("got %q, want the fixed line", got)
		}
	})
}

func TestUnansweredGroupReplyRefersToTheAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		in := ask("hi")
		in.To, in.Reply, in.ID = chat.Target{Chat: "-5", Thread: "3", Kind: chat.Group}, true, "m7"
		h.say(t, in)
		later(3 * time.Second)
		m := h.messages[0]
		if m.replyTo != "m7" || m.to.Thread != "3" {
			t.Errorf("got reply to %q in thread %q, want m7 in 3", m.replyTo, m.to.Thread)
		}
	})
}

func TestAMessageWithoutTextGetsASentence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say(t, ask(""))
		later(time.Second)
		equal(t, "messages", h.sees(), []string{"I can't read this kind of message. Please write it as text."})
	})
}

func TestPlatformWithoutMessageIDsGetsOneSend(t *testing.T) { // F57
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.noID = true
		long := strings.Repeat("word ", 40) + "end"
		h.answers["a"], h.answers["b"] = long, long
		h.say(t, ask("a"))
		later(20 * time.Second)
		n := len(h.sees())
		h.say(t, ask("b"))
		later(20 * time.Second)
		if got := h.sees()[n:]; len(got) != 1 || got[0] != long {
			t.Errorf("got %d messages for the second answer, want one, without a cursor: %q", len(got), got)
		}
	})
}

func TestUndeliverableReplyIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		h := open(t, func(o *gateway.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		h.fail = &chat.SendError{Kind: chat.Forbidden, Err: errors.New("bot was blocked")}
		h.say(t, ask("hi"))
		later(3 * time.Second)
		h.say(t, command("help"))
		later(20 * time.Minute)
		for _, want := range []string{"reply was not delivered", "answer was not delivered", "bot was blocked"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("log lacks %q: %s", want, log.String())
			}
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	s := memory.New()
	c := chat.Conversation{Endpoint: "tg", Chat: "7"}
	for i := range 3000 {
		id := chat.MessageID(strconv.Itoa(i))
		if fresh, err := s.Accept(t.Context(), c, chat.Inbound{ID: id}); !fresh || err != nil {
			t.Fatalf("message %d: fresh %t, %v", i, fresh, err)
		}
		if fresh, _ := s.Accept(t.Context(), c, chat.Inbound{ID: id}); fresh {
			t.Fatalf("message %d was fresh twice", i)
		}
		turn := chat.Turn{ID: string(id), Conversation: c, Messages: []chat.Inbound{{ID: id}}}
		if err := errors.Join(s.Begin(t.Context(), turn), s.End(t.Context(), turn.ID, chat.Growth{History: [][]byte{[]byte(turn.ID)}})); err != nil {
			t.Fatal(err)
		}
	}
	_, h, _ := s.Session(t.Context(), c)
	if len(h) != 1000 || string(h[999].Body) != "2999" {
		t.Errorf("history has %d messages and ends with %q, want the newest 1000", len(h), h[len(h)-1].Body)
	}
	if pending, _ := s.Pending(t.Context()); len(pending) > 0 {
		t.Errorf("%d messages wait that were answered", len(pending))
	}
}

// An adapter panics while a reply is shown. The gateway must end this reply and its model call, and tell the person. The
// rest of the gateway must continue to work.
func TestPanicWhileShowingIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		h := open(t, func(o *gateway.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		h.answers["a"] = long
		h.editPanics = 1
		h.say(t, ask("a"))
		later(10 * time.Second)
		got := h.sees()
		if len(got) != 2 || strings.Contains(got[0], "▌") || !strings.Contains(got[1], "Something went wrong here. (error ") {
			t.Fatalf("got %q, want what was shown without a cursor, and the line", got)
		}
		if len(h.ended) != 1 || h.ended[0] == nil {
			t.Errorf("the model was not ended: %v", h.ended)
		}
		if !strings.Contains(log.String(), "the edit broke") {
			t.Errorf("log has no panic: %s", log.String())
		}
		h.say(t, ask("b"))
		later(5 * time.Second)
		equal(t, "next", h.sees()[2:], []string{"re: b"})
	})
}

func TestPanicInAFixedLineAffectsOnlyThatLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.sendPanics = 1
		h.say(t, command("help"))
		later(3 * time.Second)
		h.say(t, ask("b"))
		later(5 * time.Second)
		equal(t, "next", h.sees(), []string{"re: b"})
	})
}

// The platform refuses the first previews of a reply, and accepts later ones. The model must continue to write meanwhile.
func TestRefusedPreviewDoesNotEndTheTurn(t *testing.T) {
	for _, kind := range []chat.ErrorKind{chat.Forbidden, chat.Auth} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := open(t, nil)
				h.answers["a"] = long
				h.failing(&chat.SendError{Kind: kind, Err: errors.New("not now")})
				h.say(t, ask("a"))
				later(2 * time.Second)
				h.failing(nil)
				later(time.Minute)
				equal(t, "messages", h.sees(), []string{long})
				if len(h.ended) != 1 || h.ended[0] != nil {
					t.Errorf("the model was ended: %v", h.ended)
				}
			})
		})
	}
}

func TestAFloodOfCommandsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		for range 1000 {
			h.say(t, command("help"))
		}
		h.say(t, ask("b"))
		later(5 * time.Second)
		got := h.sees()
		if len(got) > 60 || !slices.Contains(got, "re: b") {
			t.Errorf("got %d messages, want few and the answer: %q", len(got), got[len(got)-1])
		}
	})
}

// An actor has nothing to do but answer commands, and the platform hangs. The limit on concurrent command answers must
// apply to this actor, too.
func TestAFloodOfCommandsIsBoundedWhileThePlatformHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		h := open(t, func(o *gateway.Options) { o.Store = store })
		h.platform.hangs = true
		for range 200 {
			h.say(t, command("help"))
			synctest.Wait()
		}
		if turns, err := store.Unfinished(t.Context()); err != nil || len(turns) != 5 {
			t.Errorf("%d answers are under way, %v, want 5", len(turns), err)
		}
	})
}

// breaks is a store whose methods can panic. Each field belongs to one method and says how many of its next calls panic.
type breaks struct {
	*memory.Store
	decide, begin, end, history atomic.Int32
}

func (b *breaks) Decide(ctx context.Context, id string, d chat.Decision) error {
	if b.decide.Add(-1) >= 0 {
		panic("decide broke")
	}
	return b.Store.Decide(ctx, id, d)
}

func (b *breaks) Begin(ctx context.Context, turn chat.Turn) error {
	if b.begin.Add(-1) >= 0 {
		panic("begin broke")
	}
	return b.Store.Begin(ctx, turn)
}

func (b *breaks) End(ctx context.Context, id string, g chat.Growth) error {
	if b.end.Add(-1) >= 0 {
		panic("end broke")
	}
	return b.Store.End(ctx, id, g)
}

func (b *breaks) Session(ctx context.Context, c chat.Conversation) (chat.Session, []chat.Entry, error) {
	if b.history.Add(-1) >= 0 {
		return chat.Session{}, nil, errStore
	}
	return b.Store.Session(ctx, c)
}

func TestPanicInTheStoreIsReported(t *testing.T) {
	for name, broken := range map[string]func(*breaks){
		"decide": func(b *breaks) { b.decide.Store(1) },
		"end":    func(b *breaks) { b.end.Store(1) },
		"begin":  func(b *breaks) { b.begin.Store(1) },
		"twice":  func(b *breaks) { b.begin.Store(2) }, // a second panic, while the line about the first panic is stored
		"both":   func(b *breaks) { b.decide.Store(1); b.end.Store(2) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &breaks{Store: memory.New()}
				h := open(t, func(o *gateway.Options) { o.Store = store })
				broken(store)
				h.say(t, ask("a"))
				later(5 * time.Second)
				got := h.sees()
				if len(got) == 0 || !strings.Contains(got[len(got)-1], "Something went wrong here. (error ") {
					t.Fatalf("got %q, want the fixed line at the end", got)
				}
				h.say(t, ask("b"))
				later(5 * time.Second)
				equal(t, "next", h.sees()[len(got):], []string{"re: b"})
			})
		})
	}
}

// badProfile is a platform whose next calls of Profile panic. The field panics is the number of calls that will still
// panic.
type badProfile struct {
	*platform
	panics *atomic.Int32
}

func (p badProfile) Profile(to chat.Target) chat.Profile {
	if p.panics.Add(-1) >= 0 {
		panic("the profile broke")
	}
	return p.platform.Profile(to)
}

func TestPanicBeforeShowingAffectsOnlyItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics := new(atomic.Int32)
		h := open(t, func(o *gateway.Options) {
			o.Endpoints[0].Platform = badProfile{o.Endpoints[0].Platform.(*platform), panics}
		})
		panics.Store(1000)
		h.say(t, command("help"))
		h.say(t, ask("a"))
		later(5 * time.Second)
		panics.Store(2) // once in each of the two attempts to show the reply
		h.say(t, ask("b"))
		later(5 * time.Second)
		panics.Store(0)
		h.say(t, ask("c"))
		later(5 * time.Second)
		got := h.sees()
		if len(got) != 2 || !strings.Contains(got[0], "Something went wrong here. (error ") || got[1] != "re: c" {
			t.Errorf("got %q, want the fixed line and the next answer", got)
		}
	})
}

func TestFailureLeavesNothingUnfinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, log := &breaks{Store: memory.New()}, &strings.Builder{}
		h := open(t, func(o *gateway.Options) { o.Store, o.Log = store, slog.New(slog.NewTextHandler(log, nil)) })
		h.script.hangs = true
		h.say(t, ask("one"))
		h.say(t, ask("two")) // interrupts the first turn, so both messages are one question
		store.history.Store(100)
		later(time.Minute)
		if got := h.sees(); len(got) != 1 || !strings.Contains(got[0], "Something went wrong here. (error ") {
			t.Errorf("got %q, want the fixed line", got)
		}
		pending, err := store.Pending(t.Context())
		turns, err2 := store.Unfinished(t.Context())
		if err = errors.Join(err, err2); err != nil || len(pending)+len(turns) > 0 {
			t.Errorf("%d messages and %d turns are left, %v", len(pending), len(turns), err)
		}
		if said := log.String(); !strings.Contains(said, "history could not be read") || strings.Contains(said, "panic") {
			t.Errorf("the log says %s", said)
		}
	})
}
