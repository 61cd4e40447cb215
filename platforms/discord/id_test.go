package discord

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"telex/internal/chat"
)

func snowflakes() *rapid.Generator[string] { return rapid.StringMatching(`[1-9][0-9]{0,17}`) }

// Parsing an id must return the values from which the id was made. The parser for ids of sent messages must refuse the
// id of a command, and the parser for commands must refuse the id of a sent message.
func TestIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := command{
			app: snowflakes().Draw(t, "app"), interaction: snowflakes().Draw(t, "interaction"), token: rapid.StringN(1, 60, -1).Draw(t, "token"),
			ephemeral: rapid.Bool().Draw(t, "alone"),
		}
		if got, ok := parseCommand(c.id()); !ok || got != c {
			t.Fatalf("%q: got %+v, want %+v", c.id(), got, c)
		}
		if _, ok := parseSent(c.id()); ok {
			t.Fatalf("%q is read as a message of the bot", c.id())
		}
		c.ephemeral = false // the id of a sent message does not say that it is ephemeral
		message := snowflakes().Draw(t, "message")
		for _, s := range []sentID{{message: message}, {message: message, command: c}, {message: message, channel: snowflakes().Draw(t, "channel")}} {
			if got, ok := parseSent(s.messageID()); !ok || got != s {
				t.Fatalf("%q: got %+v, want %+v", s.messageID(), got, s)
			}
			if _, ok := parseCommand(s.messageID()); ok {
				t.Fatalf("%q is read as a command", s.messageID())
			}
		}
	})
}

func TestNoIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []chat.MessageID{"", "x", "1.", "1.2", "1.2.3", "1.2.3.", "1/", "1/x", "/1", "-1", "0", "+1", "1 ", "99999999999999999999", "press.1"} {
		if s, ok := parseSent(id); ok {
			t.Errorf("%q is read as %+v", id, s)
		}
	}
	for _, id := range []chat.MessageID{"", "cmd.", "cmd.1.2", "cmd.1.2.", "cmd.x.2.t", "1.2.t", pressID("5")} {
		if c, ok := parseCommand(id); ok {
			t.Errorf("%q is read as %+v", id, c)
		}
	}
}

func FuzzIDs(f *testing.F) {
	for _, s := range []string{"1", "1/2", "1.2.3.token", "cmd.1.2.to.ken", "own.1.2.t", "", "m=1&seq=2&session=x&at=wss%3A%2F%2Fx", "m=&owed=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, ok := parseSent(chat.MessageID(s)); ok && string(got.messageID()) != s {
			t.Errorf("%q is read as %+v, which is %q", s, got, got.messageID())
		}
		if got, ok := parseCommand(chat.MessageID(s)); ok && string(got.id()) != s {
			t.Errorf("%q is read as %+v, which is %q", s, got, got.id())
		}
		if got, ok := parseCursor(s); ok {
			if again, ok := parseCursor(got.String()); !ok || again != got {
				t.Errorf("%q is read as %+v and then as %+v", s, got, again)
			}
		}
	})
}

func TestCursor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := cursor{newest: snowflakes().Draw(t, "newest"), backfillPending: rapid.Bool().Draw(t, "owed")}
		if rapid.Bool().Draw(t, "session") {
			c.session, c.address = rapid.StringN(1, 40, -1).Draw(t, "id"), rapid.String().Draw(t, "address")
			c.seq, c.content = rapid.Int64Min(0).Draw(t, "seq"), rapid.Bool().Draw(t, "content")
		}
		if got, ok := parseCursor(c.String()); !ok || got != c {
			t.Fatalf("%q: got %+v, want %+v", c, got, c)
		}
	})
	for _, s := range []string{"12345", "m=x", "%zz", "a=1;b=2"} {
		if c, ok := parseCursor(s); ok {
			t.Errorf("%q is read as %+v", s, c)
		}
	}
	if c, ok := parseCursor(""); !ok || c != (cursor{}) {
		t.Errorf("an empty cursor is %+v, %t", c, ok)
	}
}

func TestSnowflakes(t *testing.T) {
	t.Parallel()
	// The snowflake and its time are the example in https://docs.discord.com/developers/reference#snowflakes.
	if got, want := snowflakeTime("175928847299117063"), time.UnixMilli(1462015105796); !got.Equal(want) {
		t.Errorf("the moment is %v, want %v", got, want)
	}
	if got := snowflake(time.UnixMilli(1462015105796)); got != 175928847299117063>>22<<22 {
		t.Errorf("the snowflake is %d", got)
	}
	if got := newer("9", "10"); got != "10" {
		t.Errorf("newer is %s, want 10", got)
	}
	if got := newer("", ""); got != "" {
		t.Errorf("newer is %q, want nothing", got)
	}
}
