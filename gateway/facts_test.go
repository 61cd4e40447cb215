package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

func TestPeopleReadAndDeleteFacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		texts := gateway.DefaultTexts()
		store := memory.New()
		h := open(t, func(o *gateway.Options) { o.Store, o.Remembers = store, true })
		me, you := chat.Person{Endpoint: "tg", User: "7"}, chat.Person{Endpoint: "tg", User: "8"}
		answer := func(args string) string {
			t.Helper()
			before := len(h.sees())
			h.say(t, with(command("memory"), args))
			later(3 * time.Second)
			got := h.sees()
			if len(got) != before+1 {
				t.Fatalf("/memory %s: %d answers", args, len(got)-before)
			}
			return got[before]
		}
		if got := answer(""); got != texts[gateway.TextNoMemory] {
			t.Errorf("nothing is remembered: %q", got)
		}
		for _, fact := range []string{"is called Ada", "likes *tea*, [see](http://x.example)"} {
			_, err := store.Remember(t.Context(), me, fact, 10)
			check(t, err)
		}
		_, err := store.Remember(t.Context(), you, "is called Bob", 10)
		check(t, err)
		got := answer("")
		if !strings.Contains(got, "1: is called Ada\n2: likes *tea*, [see](http://x.example)\n") || strings.Contains(got, "Bob") {
			t.Errorf("the list: %q", got)
		}
		for _, c := range []struct {
			args string
			want gateway.TextKey
		}{
			{"forget 1", gateway.TextFactGone},
			{"forget 1", gateway.TextNoFact},
			{"forget x", gateway.TextNoFact},
			{"FORGET ALL", gateway.TextAllFactsGone},
			{"", gateway.TextNoMemory},
			{"nonsense", gateway.TextNoMemory},
			{"forget", gateway.TextNoMemory},
		} {
			if got, want := answer(c.args), strings.ReplaceAll(texts[c.want], "{slash}", "/"); got != want {
				t.Errorf("/memory %s: got %q, want %q", c.args, got, want)
			}
		}
		if left, _ := store.Facts(t.Context(), you); len(left) != 1 {
			t.Errorf("of somebody else is remembered: %v", left)
		}
	})
}

func TestForgetInPrivateDeletesFactsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		h := open(t, func(o *gateway.Options) { o.Store, o.Remembers = store, true })
		me := chat.Person{Endpoint: "tg", User: "7"}
		_, err := store.Remember(t.Context(), me, "is called Ada", 10)
		check(t, err)
		for _, c := range []struct {
			command string
			kind    chat.Kind
			left    int
		}{{"new", chat.Private, 1}, {"forget", chat.Group, 1}, {"forget", chat.Private, 0}} {
			in := command(c.command)
			in.To.Kind = c.kind
			h.say(t, in)
			later(3 * time.Second)
			if left, _ := store.Facts(t.Context(), me); len(left) != c.left {
				t.Errorf("/%s in %s: %d facts are left, want %d", c.command, c.kind, len(left), c.left)
			}
		}
	})
}

// Without the memory tool, there must be no /memory command. In a group, /memory must not show a person's facts.
func TestNoMemoryCommandWithoutMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say(t, with(command("memory"), "leak"))
		later(3 * time.Second)
		if got := h.sees(); len(got) != 1 || !strings.HasPrefix(got[0], "re: ") {
			t.Errorf("without memory: %q", got)
		}
		if strings.Contains(names(h.menu()), "memory") {
			t.Errorf("the menu: %s", names(h.menu()))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Remembers = true })
		in := command("memory")
		in.To.Kind = chat.Group
		h.say(t, in)
		later(3 * time.Second)
		equal(t, "in a group", h.sees(), []string{gateway.DefaultTexts()[gateway.TextPrivateOnly]})
		if !strings.Contains(names(h.menu()), "memory") {
			t.Errorf("the menu: %s", names(h.menu()))
		}
	})
}

// The store fails. The answers to /memory and /forget must say that something went wrong, and not that the bot
// remembers nothing.
func TestUnreadableMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Store, o.Remembers = amnesia{memory.New()}, true })
		for _, args := range []string{"", "forget 1", "forget all"} {
			h.say(t, with(command("memory"), args))
			later(3 * time.Second)
		}
		h.say(t, command("forget"))
		later(3 * time.Second)
		got := h.sees()
		if len(got) != 4 {
			t.Fatalf("sees %q", got)
		}
		for _, line := range got {
			if !strings.Contains(line, "Something went wrong") {
				t.Errorf("sees %q", line)
			}
		}
	})
}

// amnesia is a store whose facts can't be read or deleted.
type amnesia struct{ *memory.Store }

func (amnesia) Facts(context.Context, chat.Person) ([]chat.Fact, error) { return nil, errStore }
func (amnesia) ForgetFact(context.Context, chat.Person, string) (bool, error) {
	return false, errStore
}
func (amnesia) ForgetFacts(context.Context, chat.Person) (int, error) { return 0, errStore }

func names(commands []chat.CommandSpec) string {
	var all []string
	for _, c := range commands {
		all = append(all, c.Name)
	}
	return strings.Join(all, " ")
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
