package slack_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/platforms/slack"
	"telex/standin/fault"
	standin "telex/standin/slack"
)

// away runs the bot until the bot has received one message, stops the bot, waits ten minutes, and returns the state
// from which the next call of Run resumes.
func (w *world) away(t *testing.T, bot *slack.Bot) chat.Resume {
	t.Helper()
	r := receive(t, bot, chat.Resume{})
	w.say("first")
	list := r.wantTexts(time.Second, "first")
	r.stop()
	time.Sleep(10 * time.Minute) // wait longer than Slack repeats deliveries, and longer than missedMargin
	return chat.Resume{Cursor: list[0].Resume}
}

// After a start, the bot must read what people wrote while the bot received nothing, oldest first in each chat. The bot
// must accept all direct messages, the messages for the bot in channels, and the messages in the bot's threads that
// mention nobody else.
func TestMissedIsRead(t *testing.T) {
	for _, byHTTP := range []bool{false, true} {
		t.Run(fmt.Sprint("by HTTP: ", byHTTP), func(t *testing.T) {
			inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, byHTTP, func(t *testing.T, w *world, bot *slack.Bot) {
				before := w.server.Say(standin.Incoming{Channel: channel, Text: "an old thread"})
				w.server.Say(standin.Incoming{Channel: channel, Text: mention + " long ago"})
				receive(t, bot, chat.Resume{}).stop()
				time.Sleep(10 * time.Minute)
				from := w.away(t, bot)
				from.Places = []chat.Target{
					{Chat: channel, Thread: chat.ThreadID(before), Kind: chat.Group},
					{Chat: "C404", Thread: "1.000000", Kind: chat.Group}, // no longer exists
				}
				say := func(in standin.Incoming) string {
					time.Sleep(time.Second)
					return w.server.Say(in)
				}
				say(standin.Incoming{Channel: dm, Text: "dm 1"})
				say(standin.Incoming{Channel: channel, Text: "not for the bot"})
				top := say(standin.Incoming{Channel: channel, Text: mention + " top 1"})
				say(standin.Incoming{Channel: channel, Thread: top, Text: mention + " in a new thread"})
				say(standin.Incoming{Channel: channel, Thread: before, Text: mention + " in the old thread"})
				say(standin.Incoming{Channel: channel, Thread: before, Text: "not for the bot by name"})
				say(standin.Incoming{Channel: channel, Thread: before, Text: "<@" + other + "> not for the bot either"})
				say(standin.Incoming{Channel: channel, Text: mention + " top 2"})
				say(standin.Incoming{Channel: dm, Text: "dm 2"})
				say(standin.Incoming{Channel: "D2002", User: other, Text: "a stranger"})
				say(standin.Incoming{Channel: "G55", Text: mention + " several"})
				time.Sleep(10 * time.Minute)

				r := receive(t, w.bot(nil, 0), from)
				w.say("live")
				got := map[chat.Target][]string{}
				list := r.take(time.Minute)
				for _, in := range list {
					got[in.To] = append(got[in.To], in.Text)
					if in.Missed != (in.Text != "live") {
						t.Errorf("%s: missed is %t", in.Text, in.Missed)
					}
					if in.Text != "live" && in.Resume < from.Cursor {
						t.Errorf("%s goes on from %s, before %s", in.Text, in.Resume, from.Cursor)
					}
				}
				thread := func(ts string) chat.Target {
					return chat.Target{Chat: channel, Thread: chat.ThreadID(ts), Kind: chat.Group}
				}
				if top := got[thread(top)]; !slices.Equal(top, []string{"top 1", "in a new thread"}) {
					t.Errorf("in the new thread: %q", top)
				}
				if old := got[thread(before)]; !slices.Equal(old, []string{"in the old thread", "not for the bot by name"}) {
					t.Errorf("in the old thread: %q", old)
				}
				if dms := got[chat.Target{Chat: dm}]; !slices.Equal(dms, []string{"first", "dm 1", "dm 2", "live"}) {
					t.Errorf("in the direct message: %q", dms)
				}
				if n := len(list); n != 11 { // the bot reads the first message again, because it is within missedMargin
					t.Errorf("%d messages, want 11: %q", n, got)
				}
				r.stop()
				w.wantGood()
			})
		})
	}
}

// The resume cursor must not change until every missed message is accepted. If the cursor changed earlier and Run then
// ended, missed messages would be lost.
func TestCursorWaitsForWhatWasMissed(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		from := w.away(t, bot)
		for i := range 3 {
			w.server.Say(standin.Incoming{Channel: fmt.Sprintf("D%d", 4001+i), User: fmt.Sprintf("U%d", 4001+i), Text: "missed"})
		}
		w.server.Fault(standin.Fault{Method: "conversations.history", Action: fault.Latency, Delay: 5 * time.Second})
		r := receive(t, bot, from)
		w.say("live")
		for _, in := range r.take(9 * time.Second) {
			if in.Resume != from.Cursor {
				t.Errorf("%s goes on from %s, want %s", in.Text, in.Resume, from.Cursor)
			}
		}
		r.take(time.Minute)
		w.say("later")
		if list := r.take(time.Second); len(list) != 1 || list[0].Resume <= from.Cursor {
			t.Errorf("got %+v, want it to go on from there", list)
		}
		r.stop()
	})
}

// A bot that never ran before must read no old messages. A bot that was offline for days must read only the messages
// of the last day.
func TestMissedIsLimited(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		w.say("before there was a bot")
		time.Sleep(10 * time.Minute)
		r := receive(t, bot, chat.Resume{})
		r.wantTexts(time.Minute)
		r.stop()
		if got := w.Calls(chat.OpFind); got != 0 {
			t.Errorf("%d reads without a cursor, want none", got)
		}
		from := w.away(t, bot)
		w.say("days ago")
		time.Sleep(48 * time.Hour)
		w.say("an hour ago")
		time.Sleep(time.Hour)
		r = receive(t, bot, from)
		r.wantTexts(time.Minute, "an hour ago")
		r.stop()
		r = receive(t, bot, chat.Resume{Cursor: "nonsense"})
		r.wantTexts(time.Minute)
		r.stop()
	})
}

// The bot must read many chats within Slack's rate limits, even if Slack refuses some of the calls that read messages,
// or cuts their connections. The bot must skip a chat that it may not read.
func TestMissedInManyChats(t *testing.T) {
	inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		from := w.away(t, bot)
		for i := range 80 {
			w.server.Say(standin.Incoming{Channel: fmt.Sprintf("D%d", 5001+i), User: fmt.Sprintf("U%d", 5001+i), Text: "missed"})
		}
		time.Sleep(10 * time.Minute)
		w.server.Fault(standin.Fault{Method: "conversations.history", Nth: 7, Action: fault.RateLimit, RetryAfter: 9})
		w.server.Fault(standin.Fault{Method: "conversations.history", Nth: 9, Action: fault.CutBefore})
		w.server.Fault(standin.Fault{Method: "conversations.history", Channel: "D5050", Action: fault.Error, Error: "missing_scope"})
		r := receive(t, bot, from)
		var people []string
		for _, in := range r.take(10 * time.Minute) {
			people = append(people, string(in.Sender.ID))
		}
		slices.Sort(people)
		if len(people) != 79 || len(slices.Compact(people)) != 79 || slices.Contains(people, "U5050") {
			t.Errorf("%d messages, want one of each person who could be read", len(people))
		}
		r.stop()
		w.wantGood()
	})
}

// In this test, three processes with one account start at the same time. Each process must read all missed messages,
// and the processes together must keep to the rate limits of the account.
func TestMissedIsReadByThreeAtOnce(t *testing.T) {
	inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		from := w.away(t, bot)
		from.Fellows = func() (all, older int) { return 2, 0 }
		for i := range 30 {
			w.server.Say(standin.Incoming{Channel: fmt.Sprintf("D%d", 5001+i), User: fmt.Sprintf("U%d", 5001+i), Text: "missed"})
		}
		time.Sleep(10 * time.Minute)
		var all []*inbox
		for range 3 {
			all = append(all, receive(t, w.bot(slog.New(slog.DiscardHandler), conformance.Proper), from))
		}
		for i, r := range all {
			if n := len(r.take(10 * time.Minute)); n != 31 { // 30 missed messages, and one that was accepted before
				t.Errorf("process %d read %d messages, want 31", i, n)
			}
			r.stop()
		}
		w.wantGood()
	})
}

// In this test, processes with one account start one after the other. Together, the processes may read no more pages of
// messages per minute than one process alone. The newest process must wait a minute before it reads, unless all other
// processes have ended by then.
func TestMissedIsReadByOneAfterTheOther(t *testing.T) {
	limits := standin.PublishedLimits()
	limits.Methods = map[string]int{"conversations.history": 18}
	inBubble(t, standin.Options{Limits: limits}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		from := w.away(t, bot)
		for i := range 60 {
			w.server.Say(standin.Incoming{Channel: fmt.Sprintf("D%d", 5001+i), User: fmt.Sprintf("U%d", 5001+i), Text: "missed"})
		}
		time.Sleep(10 * time.Minute)
		var first, last atomic.Int64 // the first and last index of the running processes
		var all []*inbox
		begin := func() {
			id := last.Add(1) - 1
			from.Fellows = func() (int, int) { return int(last.Load() - first.Load() - 1), int(id - first.Load()) }
			all = append(all, receive(t, w.bot(slog.New(slog.DiscardHandler), conformance.Proper), from))
		}
		for range 3 {
			begin()
			time.Sleep(10 * time.Second)
		}
		for i, r := range all {
			if n := len(r.take(10 * time.Minute)); n != 61 { // 60 missed messages, and one that was accepted before
				t.Errorf("process %d read %d messages, want 61", i, n)
			}
		}
		w.wantGood()
		begin()
		if n := len(all[3].take(10 * time.Second)); n != 0 {
			t.Errorf("the youngest read %d messages beside the others", n)
		}
		first.Store(3) // simulate that the other processes have ended
		if n := len(all[3].take(5 * time.Second)); n < 10 {
			t.Errorf("the youngest read %d messages at once when it was alone, want its whole part", n)
		}
		for _, r := range all {
			r.stop()
		}
	})
}

// If the bot has missed many messages in one chat, it must read only three pages of this chat, which contain the newest
// messages.
func TestMissedInALongHistory(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		from := w.away(t, bot)
		for i := range 700 {
			w.say(fmt.Sprint("missed ", i))
		}
		time.Sleep(10 * time.Minute)
		r := receive(t, bot, from)
		list := r.take(time.Minute)
		if len(list) != 600 || list[0].Text != "missed 100" || list[599].Text != "missed 699" {
			t.Errorf("%d messages, want the newest 600 in order", len(list))
		}
		r.stop()
	})
}

// The bot must request each person's name only once. If Slack does not respond to a request for a name, the bot must
// still accept and acknowledge messages in time.
func TestNames(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		w.server.SetUser(standin.User{ID: person, Name: "ann", RealName: "Ann Example"})
		r := receive(t, bot, chat.Resume{})
		defer r.stop()
		for range 3 {
			w.server.Say(standin.Incoming{Channel: channel, Text: mention + " ask <@" + other + ">, not <@" + standin.BotUser + ">"})
		}
		w.server.Say(standin.Incoming{Channel: channel, User: "U3003", Text: "for others"})
		list := r.take(time.Second)
		if len(list) != 4 || list[0].Sender.Name != "ann" || list[0].Text != "ask @person-2002, not" {
			t.Errorf("got %+v", list)
		}
		if got := w.server.Stats().ByMethod["users.info"]; got != 2 {
			t.Errorf("%d questions for names, want 2", got)
		}
		w.server.Fault(standin.Fault{Method: "users.info", Action: fault.Hang})
		w.server.Say(standin.Incoming{Channel: channel, User: "U4004", Text: mention + " ask <@U5005>"})
		w.say("next")
		list = r.take(2500 * time.Millisecond)
		if len(list) != 2 || list[0].Text != "ask @U5005" || list[0].Sender.Name != "" || list[1].Text != "next" {
			t.Errorf("got %+v", list)
		}
		if strings.Contains(fmt.Sprint(w.Violations()), standin.LateAck) {
			t.Errorf("acknowledged too late: %v", w.Violations())
		}
	})
}

// In this test, three processes with one account request the names of people, and whether the bot is a member of a
// channel. The processes together must keep to the rate limits of the account.
func TestNamesForThreeAtOnce(t *testing.T) {
	inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, false, func(t *testing.T, w *world, _ *slack.Bot) {
		from := chat.Resume{Fellows: func() (all, older int) { return 2, 0 }}
		for i := range 60 {
			w.server.Say(standin.Incoming{Channel: channel, Thread: string(w.group.Thread), User: fmt.Sprintf("U%d", 5001+i), Text: "hello"})
		}
		w.server.SetChannel(standin.Channel{ID: "C50", Name: "random", BotOut: true})
		for range 3 {
			bot := w.bot(slog.New(slog.DiscardHandler), conformance.Proper)
			r := receive(t, bot, from)
			if _, err := bot.ReadThread(t.Context(), w.group, "", 100); err != nil {
				t.Fatal(err)
			}
			for range 30 { // for each command, the bot asks Slack whether it is a member of the channel
				w.server.Command("C50", person, "/telex", "help")
			}
			r.take(time.Second)
			r.stop()
		}
		calls := w.server.Stats().ByMethod
		if calls["users.info"] < 3*10 || calls["conversations.info"] < 3*5 {
			t.Errorf("got the calls %v, want more questions", calls)
		}
		w.wantGood()
	})
}

// In this test, Slack fails many calls in the minutes after an outage. The bot must read the missed messages once Slack
// has recovered. Until Slack has recovered, the bot must accept new messages.
func TestMissedIsReadAfterAnOutage(t *testing.T) {
	for name, f := range map[string]standin.Fault{
		"places":  {Method: "conversations.history", Action: fault.Status, Status: 503},
		"a list":  {Method: "users.conversations", Action: fault.Error, Error: "internal_error"},
		"refused": {Method: "conversations.history", Action: fault.RateLimit, RetryAfter: 10},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
				from := w.away(t, bot)
				w.say("missed")
				time.Sleep(10 * time.Minute)
				w.server.Fault(f)
				r := receive(t, w.bot(nil, 0), from)
				defer r.stop()
				r.take(2 * time.Minute)
				w.say("live")
				if list := r.take(time.Minute); len(list) != 1 || list[0].Text != "live" || list[0].Resume != from.Cursor {
					t.Errorf("got %+v, want what is written now, and to go on from where it was", list)
				}
				w.server.ClearFaults()
				r.wantTexts(5*time.Minute, "first", "missed")
			})
		})
	}
}

// After Slack has refused a method with 429, the bot must not call this method until the wait is over, neither to find
// a message nor to read missed messages (D4).
func TestReadingWaitsForTheRateLimit(t *testing.T) {
	inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		from := w.away(t, bot)
		w.say("missed")
		to := chat.Target{Chat: dm}
		w.server.Fault(standin.Fault{Method: "conversations.history", Times: 1, Action: fault.RateLimit, RetryAfter: 30})
		if _, err := bot.Find(t.Context(), to, chat.Create{Key: "a key"}, ""); chat.AsSendError(err).Kind != chat.RateLimited {
			t.Fatalf("Find = %v, want to wait", err)
		}
		r := receive(t, bot, from)
		defer r.stop()
		time.Sleep(5 * time.Second)
		_, err := bot.Find(t.Context(), to, chat.Create{Key: "a key"}, "")
		if failure := chat.AsSendError(err); failure.Kind != chat.RateLimited || failure.Scope != chat.ScopeEndpoint ||
			failure.RetryAfter < 20*time.Second || failure.RetryAfter > 25*time.Second {
			t.Errorf("Find = %v, want to wait what is left", err)
		}
		r.wantTexts(time.Minute, "missed")
		if _, err := bot.Find(t.Context(), to, chat.Create{Key: "a key"}, ""); err != nil {
			t.Errorf("Find = %v", err)
		}
		w.wantGood()
	})
}

// In this test, the bot may no longer read a chat. The bot must log no warning about the unreadable chat, because the
// bot can't answer in an unreadable chat either.
func TestUnreadableChatsAreNotLogged(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		from := w.away(t, bot)
		from.Places = []chat.Target{{Chat: "C404", Kind: chat.Group}, {Chat: channel, Thread: "1.000000", Kind: chat.Group}}
		var logged bytes.Buffer
		r := receive(t, w.bot(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn})), 0), from)
		r.take(time.Minute)
		r.stop()
		if logged.Len() > 0 {
			t.Errorf("logged: %s", &logged)
		}
	})
}

// A message counts as missed only if it was written before this connection was opened. The bot must not count a newer
// message as missed, even if Slack delivers the message again or the bot reads it.
func TestMissedIsOlderThanTheConnection(t *testing.T) {
	for _, byHTTP := range []bool{false, true} {
		t.Run(fmt.Sprint("by HTTP: ", byHTTP), func(t *testing.T) {
			inBubble(t, standin.Options{}, byHTTP, func(t *testing.T, w *world, bot *slack.Bot) {
				dropped := standin.Fault{Method: "event", Times: 1, Action: standin.ActDrop}
				want := func(r *inbox, d time.Duration, text string, missed bool) chat.Inbound {
					t.Helper()
					list := r.wantTexts(d, text)
					if len(list) != 1 {
						t.FailNow()
					}
					if list[0].Missed != missed {
						t.Errorf("%s: missed is %t, want %t", text, list[0].Missed, missed)
					}
					return list[0]
				}
				r := receive(t, bot, chat.Resume{})
				w.server.Fault(dropped)
				w.say("delivered again")
				from := want(r, 5*time.Minute, "delivered again", false)
				r.stop()

				w.server.Fault(dropped)
				w.say("before the connection")
				time.Sleep(5 * time.Second)
				r = receive(t, bot, chat.Resume{}) // without a cursor, the bot reads no old messages
				want(r, 5*time.Minute, "before the connection", true)
				r.stop()

				time.Sleep(10 * time.Minute)
				w.server.Fault(standin.Fault{Method: "conversations.history", Times: 1, Action: fault.Latency, Delay: 5 * time.Second})
				r = receive(t, bot, chat.Resume{Cursor: from.Resume})
				w.server.Fault(dropped)
				w.say("read after the connection")
				want(r, 10*time.Second, "read after the connection", false)
				r.stop()
			})
		})
	}
}
