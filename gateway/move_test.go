package gateway_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
)

// migration returns the update with which the platform reports that a group became a supergroup.
func migration(from, to chat.ChatID) chat.Inbound {
	return chat.Inbound{To: chat.Target{Chat: from, Kind: chat.Group}, Kind: chat.Migration, MovedTo: to, ID: "migration"}
}

// inChat returns a message of a person who has access only through the group.
func inChat(c chat.ChatID, text string) chat.Inbound {
	in := inGroup(ask(text), "8")
	in.To.Chat = c
	return in
}

// onlyOldGroup gives access to everybody in the group with the old id.
func onlyOldGroup(o *gateway.Options) {
	o.Access = access.Rules{Allow: []access.Rule{{Endpoint: "tg", Chat: "-5"}}}
	o.Models = models()
	o.Overrides = []gateway.Override{{Match: access.Rule{Endpoint: "tg", Chat: "-5"}, Model: "Big_One"}}
}

// A group becomes a supergroup and gets a new id. The group must keep its history and its access, even if the platform
// reports the change several times, and after a restart.
func TestAGroupKeepsEverythingAsASupergroup(t *testing.T) {
	for name, c := range map[string]struct {
		updates int
		restart bool
	}{"one update": {updates: 1}, "three": {updates: 3}, "a restart": {updates: 2, restart: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log journal
				l := newLife()
				change := func(o *gateway.Options) {
					onlyOldGroup(o)
					o.Log = slog.New(slog.NewTextHandler(&log, nil))
				}
				l.begin(t, change)
				l.say(t, inChat("-5", "one"))
				later(5 * time.Second)
				for range c.updates {
					l.say(t, migration("-5", "-1005"))
					later(time.Second)
				}
				if n := strings.Count(log.String(), "a chat has a new id"); n != 1 {
					t.Errorf("the log tells of it %d times, want once:\n%s", n, &log)
				}
				if c.restart {
					l.kill()
					l.begin(t, change)
				}
				if !strings.Contains(log.String(), "tg:chat:-5") || !strings.Contains(log.String(), "tg:chat:-1005") {
					t.Errorf("the log does not say what to write in place of the old id:\n%s", &log)
				}
				l.say(t, inChat("-1005", "two"))
				later(5 * time.Second)
				equal(t, "messages", l.sees(), []string{"re: one", "re: two"})
				turn := len(l.script.turns) - 1
				equal(t, "the turn after it", l.told(turn), []string{"user: one", "assistant: re: one", "user: two"})
				if got := l.script.turns[turn].Model; got != "Big_One" {
					t.Errorf("the model is %q, want that of the old id's override", got)
				}
				l.nothingLeft(t)
			})
		})
	}
}

// A group becomes a supergroup while messages wait. The bot must answer the waiting messages in the new group, in their
// order. A rate-limit block of the old group must apply to the new group, too.
func TestWaitingMessagesMoveWithTheirGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, func(o *gateway.Options) {
			onlyOldGroup(o)
			o.Busy = gateway.Queue
		})
		l.platform.failing(&chat.SendError{Kind: chat.RateLimited, Scope: chat.ScopeChat, RetryAfter: time.Minute})
		l.say(t, inChat("-5", "one"))
		later(2 * time.Second)
		l.platform.failing(nil)
		l.say(t, inChat("-5", "two"))
		l.say(t, migration("-5", "-1005"))
		l.say(t, inChat("-1005", "three"))
		later(30 * time.Second)
		equal(t, "messages while the block holds", l.sees(), nil)
		later(2 * time.Minute)
		equal(t, "messages", l.sees(), []string{"re: one", "re: two", "re: three"})
		for _, m := range l.platform.messages[1:] {
			if m.to.Chat != "-1005" {
				t.Errorf("%q was sent to %s, want the new chat", m.text(), m.to.Chat)
			}
		}
		l.nothingLeft(t)
	})
}

// A group without access gets a new id. The store must keep nothing about this group, not even its new id.
func TestTheMoveOfAnUnknownGroupIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, onlyOldGroup)
		l.say(t, migration("-6", "-1006"))
		later(time.Second)
		if moves, err := l.store.Moves(t.Context()); err != nil || len(moves) != 0 {
			t.Errorf("stored %v, %v, want nothing", moves, err)
		}
	})
}
