package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
)

// The bot must understand a plain yes or no in many languages, and as a symbol. An ambiguous text must not count as a
// decision.
func TestPlainYesAndNo(t *testing.T) {
	for decision, words := range map[string][]string{
		"decision=approved": {
			"yes", "Yes please", "YES, please!", "ok", "Okay.", "ja", "Ja, bitte!", "oui", "Sí.", "sí, por favor", "d’accord", "да", "はい", "好的。",
			"👍", "👍🏽", "👍👍", "✅", "✔️", "yes 👍", "yes👍", "go ahead", "please do it", "네",
		},
		"decision=denied": {"no", "No thanks", "nein", "Nein, danke.", "non merci", "нет", "👎", "👎🏿", "❌", "いいえ", "não", "nope", "no no no"},
		"": {
			"yes?", "yes but", "yes, but blue", "yes no", "👍👎", "ok?", "👍?", "please", "thanks", "yesterday", "okra", "not yes", "no, yes", "tak", "ya", "da",
			"🙂", "jaja", "…", "yes\nand delete the rest", "don't do it",
		},
	} {
		for _, word := range words {
			t.Run(word, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newLab()
					l.open(t, func(o *gateway.Options) { o.Busy = gateway.Queue })
					l.say(t, ask("light"))
					later(5 * time.Second)
					l.say(t, ask(word))
					later(5 * time.Second)
					if log := l.log.String(); strings.Contains(log, "a tool call was decided") != (decision != "") || !strings.Contains(log, decision) {
						t.Errorf("want %q in\n%s", decision, log)
					}
				})
			})
		}
	}
}

// Another message arrives while a question for approval is open. If the message interrupts the turn (busy=interrupt),
// people must be told which tool call was not made. If the message does not interrupt the turn, its sender must be told
// once that the message waits.
func TestAnotherMessageDuringAQuestion(t *testing.T) {
	for name, tt := range map[string]struct {
		busy gateway.Busy
		want string
		left bool
	}{
		"interrupt": {gateway.Interrupt, "That was not a plain yes or no, so I did not do this: Switch the lamp: {\"on\":true}", false},
		"queue":     {gateway.Queue, gateway.DefaultTexts()[gateway.TextDecideFirst], true},
		"steer":     {gateway.Steer, gateway.DefaultTexts()[gateway.TextDecideFirst], true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab()
				l.open(t, func(o *gateway.Options) { o.Busy = tt.busy })
				l.say(t, ask("light"))
				later(5 * time.Second)
				l.steps[0].ToolCalls, l.steps[0].Text = nil, "As you like."
				for _, text := range []string{"maybe", "or not"} {
					l.say(t, ask(text))
					later(5 * time.Second)
				}
				if got := strings.Join(l.sees(), "\n--\n"); strings.Count(got, tt.want) != 1 || l.times() != 0 || (l.button("approve:") != "") != tt.left {
					t.Errorf("sees\n%s", got)
				}
			})
		})
	}
}

// While a question for approval is open, the bot tells the asker what happens to further messages. The bot must not
// send such a line to other people in a group, nor to an asker who only pressed a button or sent a command.
func TestOnlyTheAskerIsToldOfAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.open(t, func(o *gateway.Options) { o.Access.Open = true })
		l.say(t, inGroup(ask("light"), "7"))
		later(5 * time.Second)
		l.say(t, inGroup(ask("maybe"), "8"))
		press := inGroup(pressing("approve:none"), "7")
		press.Kind = chat.Button
		l.say(t, press)
		later(5 * time.Second)
		if got := l.sees(); len(got) != 1 || l.button("approve:") == "" {
			t.Errorf("sees %q", got)
		}
	})
}
