package discord_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
	"telex/internal/store/memory"
	"telex/platforms/conformance"
	"telex/platforms/discord"
	standin "telex/standin/discord"
	"telex/standin/fault"
)

func commands() []chat.CommandSpec {
	return []chat.CommandSpec{
		{Name: "ask", Description: "Ask something", Argument: "question", Asks: true},
		{Name: "model", Description: "Choose a model", Argument: "name"},
		{Name: "new", Description: "Start anew"},
	}
}

// asked runs a bot that offers commands, lets a person use /ask, and returns the accepted message.
func asked(t *testing.T, w *world, to chat.Target, question string) (*discord.Bot, *runs, chat.Inbound) {
	t.Helper()
	bot := w.bot(discarded(), conformance.Proper)
	r := start(t, bot, chat.Resume{})
	if err := bot.SetCommands(t.Context(), commands(), nil); err != nil {
		t.Fatal(err)
	}
	w.Ask(to, question)
	return bot, r, r.one()
}

func outgoing(text string, replyTo chat.MessageID) chat.Outgoing {
	return chat.Outgoing{Text: text, Plain: text, Key: "key of " + text, ReplyTo: replyTo}
}

func send(t *testing.T, bot *discord.Bot, to chat.Target, m chat.Outgoing) chat.MessageRef {
	t.Helper()
	r, err := bot.Send(t.Context(), to, m)
	if err != nil || r.Ref.Target != to || r.Ref.ID == "" {
		t.Fatalf("Send = %+v, %v, want a message in %+v", r, err, to)
	}
	return r.Ref
}

func edit(t *testing.T, bot *discord.Bot, ref chat.MessageRef, text string) {
	t.Helper()
	if r, err := bot.Edit(t.Context(), ref, outgoing(text, "")); err != nil || r.Ref != ref {
		t.Fatalf("Edit = %+v, %v", r, err)
	}
}

func (w *world) wantShown(to chat.Target, want ...string) {
	w.t.Helper()
	if got := w.Shown(to); !slices.Equal(got, want) {
		w.t.Errorf("shown are %q, want %q", got, want)
	}
}

// methodsSince returns the methods of the calls that the bot has made since the given time.
func (w *world) methodsSince(at time.Time) []string {
	var list []string
	for _, c := range w.server.Calls() {
		if !c.At.Before(at) && c.Method != "getGatewayBot" && c.Method != "gateway" {
			list = append(list, c.Method)
		}
	}
	return list
}

func (w *world) wantCalls(since time.Time, want ...string) {
	w.t.Helper()
	if got := w.methodsSince(since); !slices.Equal(got, want) {
		w.t.Errorf("the calls are %q, want %q", got, want)
	}
}

func TestCommandIsDecoded(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		for _, to := range []chat.Target{w.Private(), w.Group()} {
			_, r, in := asked(t, w, to, " why? ")
			if in.To != to || in.Kind != chat.Command || in.Command != "ask" || in.Args != "why?" || in.Text != "/ask why?" || !in.Addressed || !in.Reply ||
				in.Sender.ID != standin.DefaultPerson || in.Sender.Name != "Person 1001" || in.ID == "" || in.Resume == "" {
				t.Errorf("got %+v", in)
			}
			if _, err := w.server.Slash(standin.Invocation{Channel: channel(to), Name: "new"}); err != nil {
				t.Fatal(err)
			}
			if in := r.one(); in.Command != "new" || in.Args != "" || in.Text != "/new" {
				t.Errorf("got %+v", in)
			}
			_ = r.stop()
			time.Sleep(10 * time.Second)
		}
	})
}

// The answer to a command must replace "thinking…", and the bot must edit the answer in the same message. When the
// interaction's token is about to expire, the bot must make the edits with its own token (F53).
func TestCommandIsAnswered(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		to := w.Group()
		bot, _, in := asked(t, w, to, "why?")
		if n := w.Dangling(); n != 1 {
			t.Errorf("%d messages say that the bot is thinking, want one", n)
		}
		began := time.Now()
		ref := send(t, bot, to, outgoing("one", in.ID))
		w.wantShown(to, "one")
		edit(t, bot, ref, "two")
		w.wantCalls(began, "editOwn", "editOwn")
		time.Sleep(13 * time.Minute)
		edit(t, bot, ref, "three")
		time.Sleep(time.Minute)
		began = time.Now()
		edit(t, bot, ref, "four")
		w.wantCalls(began, "editMessage")
		w.wantShown(to, "four")
		if err := bot.Delete(t.Context(), ref); err != nil {
			t.Errorf("Delete: %v", err)
		}
		w.wantShown(to)
	})
}

// If the interaction's token is expired or unknown, the bot must send, edit and delete the answer with its own token at
// once, and must not use the interaction's token again.
func TestTokenIsDead(t *testing.T) {
	for name, f := range map[string]standin.Fault{
		"invalid token":       {Status: http.StatusUnauthorized, Code: 50027, Description: "Invalid Webhook Token"},
		"unknown webhook":     {Status: http.StatusNotFound, Code: 10015, Description: "Unknown Webhook"},
		"unknown interaction": {Status: http.StatusNotFound, Code: 10062, Description: "Unknown interaction"},
		"unauthorized":        {Status: http.StatusUnauthorized, Description: "401: Unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
				to := w.Private()
				bot, _, in := asked(t, w, to, "why?")
				ref := send(t, bot, to, outgoing("one", in.ID))
				f := f
				f.Method, f.Action = "editOwn|deleteOwn", fault.Status
				w.server.Fault(f)
				began := time.Now()
				edit(t, bot, ref, "two")
				edit(t, bot, ref, "three")
				w.wantCalls(began, "editOwn", "editMessage", "editMessage")
				w.wantShown(to, "three")
				began = time.Now()
				if err := bot.Delete(t.Context(), ref); err != nil {
					t.Errorf("Delete: %v", err)
				}
				w.wantCalls(began, "deleteMessage")
				w.wantShown(to)
			})
		})
		t.Run(name+" from the start", func(t *testing.T) {
			inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
				to := w.Group()
				bot, _, in := asked(t, w, to, "why?")
				f := f
				f.Method, f.Action = "editOwn", fault.Status
				w.server.Fault(f)
				began := time.Now()
				ref := send(t, bot, to, outgoing("one", in.ID))
				w.wantCalls(began, "editOwn", "createMessage")
				edit(t, bot, ref, "two")
				w.wantShown(to, "two")
				w.server.ClearFaults()
				bot.Concluded(to, []chat.MessageID{in.ID}, false)
			})
		})
	}
}

// In this test, the outcome of the call that answers a command is unknown. After the call that answers a command has
// been repeated, the answer must be visible only once, because both calls replace the same message.
func TestCommandsAnswerIsUncertain(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		for _, f := range []conformance.Fault{conformance.CutBefore, conformance.CutAfter, conformance.ServerError} {
			to := w.Group()
			bot, r, in := asked(t, w, to, "why?")
			before := len(w.Shown(to))
			w.server.Fault(once("editOwn", f.OnCall()))
			if _, err := bot.Send(t.Context(), to, outgoing("one", in.ID)); chat.AsSendError(err).Kind != chat.Uncertain {
				t.Errorf("Send = %v, want an uncertain failure", err)
			}
			send(t, bot, to, outgoing("one", in.ID))
			if got := w.Shown(to)[before:]; !slices.Equal(got, []string{"one"}) {
				t.Errorf("shown are %q, want one answer", got)
			}
			_ = r.stop()
			time.Sleep(10 * time.Second)
		}
	})
}

// A second message that answers a command must not overwrite the first message.
func TestTwoAnswersToACommand(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		to := w.Group()
		bot, _, in := asked(t, w, to, "why?")
		send(t, bot, to, outgoing("one", in.ID))
		send(t, bot, to, outgoing("two", in.ID))
		w.wantShown(to, "one", "two")
	})
}

// In this test, a person deletes the answer to a command. If the gateway sends the answer again after that, people must
// see the answer.
func TestCommandsAnswerIsDeleted(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		to := w.Group()
		bot, _, in := asked(t, w, to, "why?")
		ref := send(t, bot, to, outgoing("one", in.ID))
		w.Remove(ref)
		if _, err := bot.Edit(t.Context(), ref, outgoing("two", "")); chat.AsSendError(err).Kind != chat.Gone {
			t.Errorf("Edit = %v, want that it is gone", err)
		}
		if err := bot.Delete(t.Context(), ref); err != nil {
			t.Errorf("Delete: %v", err)
		}
		send(t, bot, to, outgoing("one", in.ID)) // send the first answer again, with the same idempotency key
		w.wantShown(to, "one")
	})
}

// If the acknowledgement of a command is slow, the answers to the command must wait for the acknowledgement. If the
// acknowledgement fails, the bot must send the answers to the channel.
func TestAcknowledgementIsSlow(t *testing.T) {
	for name, f := range map[string]standin.Fault{
		"slow":     {Action: fault.Latency, Delay: 2 * time.Second},
		"refused":  {Action: fault.Status, Status: http.StatusBadGateway},
		"cut":      {Action: fault.CutAfter},
		"over":     {Action: fault.Latency, Delay: 10 * time.Second},
		"repeated": {Action: fault.Status, Status: http.StatusBadRequest, Code: 40060, AfterEffect: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // not inBubble, which would report the missing acknowledgement as a violation
				w := newWorldWith(t, standin.Options{})
				to := w.Group()
				bot := w.bot(discarded(), conformance.Proper)
				r := start(t, bot, chat.Resume{})
				if err := bot.SetCommands(t.Context(), commands(), nil); err != nil {
					t.Fatal(err)
				}
				f.Method, f.Times = "callback", 1
				w.server.Fault(f)
				w.Ask(to, "why?")
				synctest.Wait()
				time.Sleep(100 * time.Millisecond)
				r.mu.Lock()
				in := r.accepted[0]
				r.mu.Unlock()
				began := time.Now()
				send(t, bot, to, outgoing("one", in.ID))
				if took := time.Since(began); took > 3500*time.Millisecond {
					t.Errorf("the answer took %v", took)
				}
				w.wantShown(to, "one")
				bot.Concluded(to, []chat.MessageID{in.ID}, false)
				time.Sleep(quiet)
				w.wantShown(to, "one")
			})
		})
	}
}

// The bot must repeat a failed acknowledgement as long as Discord's deadline for acknowledgements has not passed.
func TestAcknowledgementIsRepeated(t *testing.T) {
	for name, f := range map[string]standin.Fault{
		"cut before":   {Method: "callback", Times: 2, Action: fault.CutBefore},
		"cut after":    {Method: "callback", Times: 1, Action: fault.CutAfter},
		"server error": {Method: "callback", Times: 2, Action: fault.Status, Status: http.StatusBadGateway},
		"rate limit":   {Method: "callback", Times: 1, Action: fault.RateLimit, RetryAfter: 0.5},
		"hanging":      {Method: "callback", Times: 1, Action: fault.Hang},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
				w.server.Fault(f)
				bot, _, in := asked(t, w, w.Group(), "why?")
				began := time.Now()
				send(t, bot, in.To, outgoing("one", in.ID))
				w.wantCalls(began, "editOwn")
				w.wantShown(w.Group(), "one")
				for _, i := range w.server.Interactions() {
					if i.Response != 5 {
						t.Errorf("the person saw that the application did not respond: %+v", i)
					}
				}
			})
		})
	}
}

// In this test, a new process answers a command that an earlier process received. The new process must continue the
// answer of the earlier process. If Discord never got an acknowledgement of the command, the new process must answer in
// the channel.
func TestAnotherProcessAnswersACommand(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		to := w.Group()
		bot, r, in := asked(t, w, to, "why?")
		ref := send(t, bot, to, outgoing("one", in.ID))
		_ = r.stop()
		other := w.bot(discarded(), conformance.Proper)
		if again := send(t, other, to, outgoing("one", in.ID)); again != ref {
			t.Errorf("the message is %+v and then %+v", ref, again)
		}
		edit(t, other, ref, "two")
		w.wantShown(to, "two")
		never := chat.MessageID("cmd." + app + ".1234.aW50ZXJhY3Rpb246unknown")
		if _, err := other.Send(t.Context(), to, outgoing("three", never)); chat.AsSendError(err).Kind != chat.Temporary { // another process may still acknowledge it
			t.Errorf("got %v", err)
		}
		time.Sleep(3 * time.Second)
		send(t, other, to, outgoing("three", never))
		w.wantShown(to, "two", "three")
		other.Concluded(to, []chat.MessageID{never, in.ID}, false)
		r = start(t, other, r.from())
		time.Sleep(quiet)
		w.wantShown(to, "two", "three")
		if err := r.stop(); err == nil {
			t.Error("no error")
		}
	})
}

// If a command gets no answer, the bot must remove the text "thinking…" below the command.
func TestCommandIsConcluded(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		to := w.Private()
		bot, _, in := asked(t, w, to, "why?")
		bot.Concluded(to, []chat.MessageID{"1234", in.ID}, true)
		time.Sleep(quiet)
		if n := w.Dangling(); n != 0 {
			t.Errorf("%d commands say that the bot is thinking, want none", n)
		}
		w.wantShown(to)
	})
}

// In this test, many people use a command at the same time, while a slow backfill makes new messages wait. The test
// checks that every command is acknowledged in time and answered.
func TestManyCommands(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot := w.bot(discarded(), conformance.Proper)
		house(t, bot, memory.New(), conformance.Talker{}, true)
		w.say(w.direct, "hello")
		time.Sleep(quiet)
		w.server.Fault(standin.Fault{Method: "getMessages", Times: 2, Action: fault.Latency, Delay: 9 * time.Second})
		w.server.Gateway(standin.Disturbance{Kind: standin.GatewayInvalidate})
		time.Sleep(7 * time.Second) // by now, a new session has begun, and the bot reads the missed messages
		places := w.Crowd(30)
		for i, to := range places {
			w.Ask(to, fmt.Sprintf("question %d", i))
		}
		time.Sleep(2 * time.Minute)
		for i, to := range places {
			w.wantShown(to, fmt.Sprintf("re: question %d", i))
		}
		if n := w.Dangling(); n != 0 {
			t.Errorf("%d commands look unanswered, want none", n)
		}
	})
}

// If a command was not handled when the connection ended, Discord delivers the command again. Run must pass on the
// repeated command once, with the same message id as before.
func TestCommandComesAgain(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot := w.bot(discarded(), conformance.Proper)
		r := start(t, bot, chat.Resume{})
		if err := bot.SetCommands(t.Context(), commands(), nil); err != nil {
			t.Fatal(err)
		}
		w.Ask(w.Private(), "one")
		in := r.one()
		_ = r.stop()
		from := chat.Resume{Cursor: strings.Replace(in.Resume, "seq=", "seq=1&was=", 1)} // a cursor as if the command had not been handled
		other := &runs{t: t, bot: bot, resume: from, known: map[string]bool{}}
		list := other.again(w.bot(discarded(), conformance.Proper)).take()
		if len(list) != 1 || list[0].ID != in.ID {
			t.Errorf("accepted %+v, want the same id %s again", list, in.ID)
		}
	})
}

// No error and no log may contain a token, not even the token of an interaction.
func TestTokensAreSecret(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		log := &conformance.Log{}
		to := w.Group()
		bot := w.bot(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), conformance.Proper)
		r := start(t, bot, chat.Resume{})
		if err := bot.SetCommands(t.Context(), commands(), nil); err != nil {
			t.Fatal(err)
		}
		w.Ask(to, "why?")
		in := r.one()
		ref := send(t, bot, to, outgoing("one", in.ID))
		token := w.server.Interactions()[0].Token
		if !strings.HasSuffix(string(in.ID), token) {
			t.Errorf("the id %q does not hold the token", in.ID)
		}
		for _, f := range []standin.Fault{
			{Action: fault.CutBefore},
			{Action: fault.Hang},
			{Action: fault.Status, Status: http.StatusBadGateway},
			{Action: fault.Status, Status: http.StatusBadRequest, Description: "no such path /webhooks/1/" + token + " for Bot " + w.server.Token()},
			{Action: fault.RateLimit, RetryAfter: 1},
		} {
			f.Method, f.Times = "editOwn", 1
			w.server.Fault(f)
			ctx, cancel := contextFor(t, time.Second)
			_, err := bot.Edit(ctx, ref, outgoing("two", ""))
			cancel()
			if err == nil {
				t.Fatalf("after %+v: no error", f)
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if text := fmt.Sprintf("%v %+v", e, e); strings.Contains(text, token) || strings.Contains(text, w.server.Token()) {
					t.Errorf("an error holds a token: %s", text)
				}
			}
			time.Sleep(2 * time.Second)
		}
		bad := chat.MessageRef{Target: to, ID: chat.MessageID("x." + app + ".1." + token)}
		if _, err := bot.Edit(t.Context(), bad, outgoing("two", "")); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("Edit = %v", err)
		}
		w.server.Fault(standin.Fault{Method: "callback|getOwn", Action: fault.Status, Status: http.StatusInternalServerError})
		w.Ask(to, "and now?")
		next := r.one()
		bot.Concluded(to, []chat.MessageID{next.ID}, false)
		time.Sleep(quiet)
		for _, i := range w.server.Interactions() {
			if text := log.String(); strings.Contains(text, i.Token) || strings.Contains(text, w.server.Token()) {
				t.Errorf("the log holds a token:\n%s", text)
			}
		}
		w.server.Reset() // the test let an interaction fail on purpose; Reset removes the violation that the stand-in recorded
	})
}

// If the bot has no access to the channel of a command, the answer must replace "thinking…" and continue in follow-up
// messages of the interaction.
func TestCommandInHiddenChannel(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		to, began := w.Group(), time.Now()
		bot, _, in := asked(t, w, to, "why?")
		w.Ban(to)
		ref := send(t, bot, to, outgoing("one", in.ID))
		edit(t, bot, ref, "two")
		w.wantShown(to, "two")
		if _, err := bot.Send(t.Context(), to, outgoing("more", "")); chat.AsSendError(err).Kind != chat.Forbidden {
			t.Errorf("Send = %v, want that it is forbidden", err)
		}
		more := outgoing("more", "")
		more.Answers = in.ID
		edit(t, bot, send(t, bot, to, more), "more of it")
		w.wantShown(to, "two", "more of it")
		time.Sleep(time.Until(began.Add(14*time.Minute + 30*time.Second)))
		edit(t, bot, ref, "still") // only the interaction's token still allows this edit
		w.wantShown(to, "still", "more of it")
		time.Sleep(2 * time.Minute)
		if _, err := bot.Send(t.Context(), to, more); chat.AsSendError(err).Kind != chat.Forbidden {
			t.Errorf("Send = %v, want that it is forbidden", err)
		}
		if _, err := bot.Edit(t.Context(), ref, outgoing("three", "")); chat.AsSendError(err).Kind != chat.Forbidden {
			t.Errorf("Edit = %v, want that it is forbidden", err)
		}
	})
}

// In this test, a command is acknowledged at once, but the store refuses the command. If the store refuses the command,
// Run must fail, and the next Run must receive the command again.
func TestCommandThatIsNotStoredComesAgain(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot := w.bot(discarded(), conformance.Proper)
		r := start(t, bot, chat.Resume{})
		if err := bot.SetCommands(t.Context(), commands(), nil); err != nil {
			t.Fatal(err)
		}
		r.refuse(1)
		w.Ask(w.Private(), "why?")
		if err := r.ended(); !errors.Is(err, errFull) {
			t.Errorf("Run = %v, want %v", err, errFull)
		}
		time.Sleep(500 * time.Millisecond)
		if i := w.server.Interactions()[0]; i.Answered.IsZero() {
			t.Error("it was not acknowledged at once")
		}
		r = r.again(bot)
		if in := r.one(); in.Args != "why?" {
			t.Errorf("got %+v", in)
		}
		bot.Concluded(w.Private(), []chat.MessageID{"cmd." + app + "." + chat.MessageID(w.server.Interactions()[0].ID) + ".x"}, false)
	})
}

// The log must say once that the bot receives messages, even if the bot resumes a session after a restart.
func TestReceivingIsTold(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		r := start(t, w.bot(discarded(), conformance.Proper), chat.Resume{})
		w.say(w.direct, "hello")
		r.wantTexts("hello")
		_ = r.stop()
		log := &conformance.Log{}
		next := start(t, w.bot(slog.New(slog.NewTextHandler(log, nil)), conformance.Proper), r.from())
		time.Sleep(quiet)
		_ = next.stop()
		if n := strings.Count(log.String(), "msg=receiving"); n != 1 || w.server.Stats().Resumes != 1 {
			t.Errorf("told %d times, after %d resumes:\n%s", n, w.server.Stats().Resumes, log.String())
		}
	})
}
