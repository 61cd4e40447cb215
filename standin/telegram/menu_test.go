package telegram_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"telex/standin/telegram"
)

// TestMenuOrder deletes the lists of commands one by one, from the narrowest scope to the widest. After each deletion,
// the test checks which list each person gets. Source: https://core.telegram.org/bots/api#determining-list-of-commands
func TestMenuOrder(t *testing.T) {
	t.Parallel()
	const group = -1000000000007
	for name, tc := range map[string]struct {
		chat, user int64
		admin      bool
		order      []string // scopes, in the order in which Telegram looks for a list
	}{
		"private": {person, 0, false, []string{`{"type":"chat","chat_id":1001}`, `{"type":"all_private_chats"}`, `{"type":"default"}`}},
		"member": {group, person, false, []string{
			`{"type":"chat_member","chat_id":-1000000000007,"user_id":1001}`, `{"type":"chat","chat_id":"-1000000000007"}`,
			`{"type":"all_group_chats"}`, `{"type":"default"}`,
		}},
		"admin": {group, person, true, []string{
			`{"type":"chat_member","chat_id":-1000000000007,"user_id":"1001"}`, `{"type":"chat_administrators","chat_id":-1000000000007}`,
			`{"type":"chat","chat_id":-1000000000007}`, `{"type":"all_chat_administrators"}`, `{"type":"all_group_chats"}`, `{"type":"default"}`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, telegram.Options{})
			c.server.Say(telegram.Incoming{Chat: tc.chat, User: person, Text: "x"}) // the person's client has the language English
			if tc.admin {
				c.control("POST", "admin", fmt.Sprintf(`{"chat":%d,"user":%d}`, tc.chat, person))
			}
			type list struct{ scope, language, name string }
			var lists []list
			for _, scope := range append(tc.order, `{"type":"chat","chat_id":5}`) {
				for _, language := range []string{"en", "", "de"} {
					lists = append(lists, list{scope, language, fmt.Sprintf("c%d", len(lists))})
				}
			}
			c.server.Say(telegram.Incoming{Chat: 5, Text: "another chat, whose menu is not shown"})
			for _, l := range lists {
				commands := `[{"command":"` + l.name + `","description":"x"}]`
				if r := c.call("setMyCommands", args{"commands": commands, "scope": l.scope, "language_code": l.language}); !r.OK {
					t.Fatalf("set %+v: got %s", l, r.Raw)
				}
				if got := string(c.call("getMyCommands", args{"scope": l.scope, "language_code": l.language}).Result); got != commands {
					t.Errorf("get %+v: got %s, want %s", l, got, commands)
				}
			}
			for i, l := range lists {
				want := "[]"
				for _, left := range lists[i:] {
					if left.language != "de" && !strings.Contains(left.scope, ":5}") {
						want = `[{"command":"` + left.name + `","description":"x"}]`
						break
					}
				}
				if status, got := c.control("GET", fmt.Sprintf("menu?chat=%d&user=%d", tc.chat, tc.user), ""); status != 200 || got != want {
					t.Errorf("before %+v is deleted: got %d %s, want %s", l, status, got, want)
				}
				c.call("deleteMyCommands", args{"scope": l.scope, "language_code": l.language})
			}
		})
	}
}

// The bot sets a list of commands for German, and another list without a language. Only a person whose client is German
// must see the German list.
func TestMenuLanguage(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{})
	c.server.Say(telegram.Incoming{Chat: 2002, LanguageCode: "de", Text: "hallo"})
	c.call("setMyCommands", args{"commands": `[{"command":" /help ","description":" Help "}]`})
	c.call("setMyCommands", args{"commands": `[{"command":"hilfe","description":"Hilfe"}]`, "language_code": "de"})
	c.call("setMyCommands", args{"commands": `[]`, "scope": `{"type":"all_private_chats"}`})
	for chat, want := range map[int64]telegram.Command{2002: {Command: "hilfe", Description: "Hilfe"}, 3003: {Command: "help", Description: "Help"}} {
		if got := c.server.Menu(chat, 0); len(got) != 1 || got[0] != want {
			t.Errorf("menu in %d: got %+v, want %+v", chat, got, want)
		}
	}
	for _, path := range []string{"menu", "menu?chat=x", "menu?chat=1&user=x"} {
		if status, _ := c.control("GET", path, ""); status != 400 {
			t.Errorf("%s: got %d, want 400", path, status)
		}
	}
}

func TestMenuRefused(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{})
	c.server.Say(telegram.Incoming{Chat: person, Text: "x"})
	c.server.Say(telegram.Incoming{Chat: -1000000000008, ChatType: telegram.Channel, Text: "x"})
	one := func(name, description string) string {
		b, err := json.Marshal([]telegram.Command{{Command: name, Description: description}})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	good := one("help", "Help")
	for _, tc := range []struct{ commands, scope, language, want string }{
		{"", "", "", "can't parse commands JSON array"},
		{"{", "", "", "can't parse commands JSON array"},
		{one("", "x"), "", "", "command must be non-empty"},
		{one("/", "x"), "", "", "command must be non-empty"},
		{one(strings.Repeat("a", 33), "x"), "", "", "command length must not exceed 32"},
		{one("Help", "x"), "", "", "BOT_COMMAND_INVALID"},
		{one("he-lp", "x"), "", "", "BOT_COMMAND_INVALID"},
		{one("help", " "), "", "", "command description must be non-empty"},
		{one("help", strings.Repeat("ä", 257)), "", "", "command description length must not exceed 256"},
		{"[" + strings.Repeat(`{"command":"a","description":"x"},`, 100) + `{"command":"a","description":"x"}]`, "", "", "BOT_COMMANDS_TOO_MUCH"},
		{good, `[]`, "", "can't parse BotCommandScope: object expected"},
		{good, `{}`, "", `can't parse BotCommandScope: Can't find field "type"`},
		{good, `{"type":"everyone"}`, "", "can't parse BotCommandScope: Unsupported type specified"},
		{good, `{"type":"chat"}`, "", `can't parse BotCommandScope: Can't find field "chat_id"`},
		{good, `{"type":"chat_member","chat_id":1001}`, "", `can't parse BotCommandScope: Can't find field "user_id"`},
		{good, `{"type":"chat_member","chat_id":1001,"user_id":0}`, "", "can't parse BotCommandScope: Invalid user_id specified"},
		{good, `{"type":"chat","chat_id":77}`, "", "chat not found"},
		{good, `{"type":"chat_administrators","chat_id":1001}`, "", "can't use specified scope in private chats"},
		{good, `{"type":"chat","chat_id":-1000000000008}`, "", "can't change commands in channel chats"},
		{good, "", "deu", "invalid language code specified"},
		{good, "", "DE", "invalid language code specified"},
	} {
		r := c.call("setMyCommands", args{"commands": tc.commands, "scope": tc.scope, "language_code": tc.language})
		if r.Status != 400 || r.Description != "Bad Request: "+tc.want {
			t.Errorf("%+v: got %d %q", tc, r.Status, r.Description)
		}
	}
	longest := one(strings.Repeat("a", 32), strings.Repeat("ä", 256))
	if r := c.call("setMyCommands", args{"commands": longest}); !r.OK {
		t.Errorf("the longest: got %s", r.Raw)
	}
	for _, method := range []string{"getMyCommands", "deleteMyCommands"} {
		if r := c.call(method, args{"scope": `{"type":"chat","chat_id":77}`}); r.Description != "Bad Request: chat not found" {
			t.Errorf("%s: got %s", method, r.Raw)
		}
	}
}
