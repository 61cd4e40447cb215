package discord_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"telex/standin/discord"
)

const (
	guilds   = 1 << 0
	inGuilds = 1 << 9
	inDMs    = 1 << 12
	content  = 1 << 15
	usual    = guilds | inGuilds | inDMs
)

func TestGatewaySendsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, _ := c.identify(usual)
		for _, tc := range []struct {
			name string
			in   discord.Incoming
			want string
		}{
			{"in a DM", discord.Incoming{Text: "hello"}, "hello"},
			{"in a guild", discord.Incoming{Channel: general, Text: "hello"}, ""},
			{"with a mention", discord.Incoming{Channel: general, Text: c.server.Mention() + " hello"}, c.server.Mention() + " hello"},
			{"with a mention in code", discord.Incoming{Channel: general, Text: "`" + c.server.Mention() + "`"}, ""},
		} {
			c.say(tc.in)
			if m := g.expect("MESSAGE_CREATE").message(t); m.Content != tc.want {
				t.Errorf("%s: got %q, want %q", tc.name, m.Content, tc.want)
			}
		}
		id := c.send(general, "mine").id(t)
		if m := g.expect("MESSAGE_CREATE").message(t); m.Content != "mine" || m.ID != id || m.GuildID != discord.DefaultGuild {
			t.Errorf("own message: got %+v", m)
		}
		c.say(discord.Incoming{Channel: general, Text: "yes", ReplyTo: id})
		if m := g.expect("MESSAGE_CREATE").message(t); m.Content != "yes" || m.Referenced == nil || m.Referenced.Content != "mine" {
			t.Errorf("reply: got %+v, want its text, as it mentions the bot", m)
		}
		c.say(discord.Incoming{Channel: general, Text: "yes", ReplyTo: id, QuietReply: true})
		if m := g.expect("MESSAGE_CREATE").message(t); m.Content != "" {
			t.Errorf("quiet reply: got %q, want no text", m.Content)
		}
		if err := c.server.Delete(general, id); err != nil {
			t.Fatal(err)
		}
		g.expect("MESSAGE_DELETE")
	})
}

func TestGatewayIntents(t *testing.T) {
	for _, tc := range []struct {
		name    string
		intents int
		enabled bool
		code    int
	}{
		{"privileged, not enabled", usual | content, false, 4014},
		{"members", usual | 1<<1, true, 4014},
		{"unknown", 1 << 30, false, 4013},
		{"enabled", usual | content, true, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t, discord.Options{MessageContent: tc.enabled})
				if tc.code == 0 {
					g, _ := c.identify(tc.intents)
					c.say(discord.Incoming{Channel: general, Text: "hello"})
					if m := g.expect("MESSAGE_CREATE").message(t); m.Content != "hello" {
						t.Errorf("got %q, want the text", m.Content)
					}
					return
				}
				g := c.connect("")
				g.expectOp(10)
				g.write(2, object{"token": c.server.Token(), "intents": tc.intents, "properties": object{}})
				g.expectClose(tc.code)
			})
		})
	}
}

func TestGatewayCloses(t *testing.T) {
	for _, tc := range []struct {
		name string
		send func(*gateway)
		code int
	}{
		{"no JSON", func(g *gateway) { _ = g.conn.Write(g.t.Context(), websocket.MessageText, []byte("{")) }, 4002},
		{"long", func(g *gateway) { g.write(3, strings.Repeat("x", 4096)) }, 4002},
		{"opcode", func(g *gateway) { g.write(99, nil) }, 4001},
		{"not identified", func(g *gateway) { g.write(3, nil) }, 4003},
		{"token", func(g *gateway) { g.write(2, object{"token": "wrong", "intents": 0, "properties": object{}}) }, 4004},
		{"token of a resume", func(g *gateway) { g.write(6, object{"token": "wrong", "session_id": "x", "seq": 1}) }, 4004},
		{"shard", func(g *gateway) {
			g.write(2, object{"token": discord.DefaultToken, "intents": 0, "properties": object{}, "shard": []int{1, 1}})
		}, 4010},
		{"too often", func(g *gateway) {
			for range 121 {
				g.write(1, nil)
			}
		}, 4008},
		{"silence", func(*gateway) {}, 4009},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				g := c.connect("")
				g.expectOp(10)
				tc.send(g)
				g.expectClose(tc.code)
				if v := c.server.Stats().Violations; v.BadGateway != 1 {
					t.Errorf("violations: got %+v, want one", v)
				}
			})
		})
	}
}

func TestGatewayIdentifiesTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, discord.Options{Limits: discord.Limits{Sessions: 2}})
		g, _ := c.identify(usual)
		g.write(2, object{"token": c.server.Token(), "intents": 0, "properties": object{}})
		g.expectClose(4005)
		h := c.connect("")
		h.expectOp(10)
		h.write(2, object{"token": c.server.Token(), "intents": 0, "properties": object{}})
		if e := h.expectOp(9); string(e.Data) != "false" {
			t.Errorf("second identify within 5 s: got %s, want an invalid session", e.Data)
		}
		pause(5 * time.Second)
		h.write(2, object{"token": c.server.Token(), "intents": 0, "properties": object{}})
		h.expect("READY")
		pause(5 * time.Second)
		var bot struct {
			Limit struct {
				Remaining int `json:"remaining"`
			} `json:"session_start_limit"`
		}
		c.call("GET", "/gateway/bot", nil).into(t, &bot)
		if bot.Limit.Remaining != 0 {
			t.Errorf("remaining: got %d, want 0", bot.Limit.Remaining)
		}
		i := c.connect("")
		i.expectOp(10)
		i.write(2, object{"token": c.server.Token(), "intents": 0, "properties": object{}})
		i.expectClose(4004)
	})
}

// resume opens a connection and asks to resume a session.
func (c *client) resume(session string, seq int64) *gateway {
	c.t.Helper()
	g := c.connect("/resume")
	g.expectOp(10)
	g.write(6, object{"token": c.server.Token(), "session_id": session, "seq": seq})
	return g
}

func TestGatewayResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, session := c.identify(usual)
		c.say(discord.Incoming{Text: "one"})
		g.expect("MESSAGE_CREATE")
		c.say(discord.Incoming{Text: "two"})
		if n := c.server.Gateway(discord.Disturbance{Kind: discord.GatewayDrop}); n != 1 {
			t.Errorf("dropped %d connections, want 1", n)
		}
		synctest.Wait()
		c.say(discord.Incoming{Text: "three"})

		h := c.resume(session, g.seq)
		for _, want := range []string{"two", "three"} {
			if m := h.expect("MESSAGE_CREATE").message(t); m.Content != want {
				t.Errorf("replay: got %q, want %q", m.Content, want)
			}
		}
		h.expect("RESUMED")
		if st := c.server.Stats(); st.Resumes != 1 || st.Replayed != 2 || st.ResumesElsewhere != 0 || st.Connections != 1 {
			t.Errorf("stats: got %+v", st)
		}

		// If the client closes the connection normally, the session must end.
		_ = h.conn.Close(websocket.StatusNormalClosure, "")
		synctest.Wait()
		if e := c.resume(session, h.seq).expectOp(9); string(e.Data) != "false" {
			t.Errorf("resume after a goodbye: got %s, want a refusal", e.Data)
		}
	})
}

func TestGatewayResumeRefused(t *testing.T) {
	for _, tc := range []struct {
		name string
		lose func(*client)
	}{
		{"by a fault", func(c *client) {
			c.server.Gateway(discord.Disturbance{Kind: discord.GatewayRefuse})
			c.server.Gateway(discord.Disturbance{Kind: discord.GatewayDrop})
		}},
		{"too late", func(c *client) {
			c.server.Gateway(discord.Disturbance{Kind: discord.GatewayDrop})
			pause(3*time.Minute + time.Second)
		}},
		{"forgotten", func(c *client) {
			c.server.Gateway(discord.Disturbance{Kind: discord.GatewayDrop})
			synctest.Wait()
			c.server.Gateway(discord.Disturbance{Kind: discord.GatewayForget})
		}},
		{"closed with 4009", func(c *client) {
			c.server.Gateway(discord.Disturbance{Kind: discord.GatewayClose, Code: 4009})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				g, session := c.identify(usual)
				tc.lose(c)
				synctest.Wait()
				if e := c.resume(session, g.seq).expectOp(9); string(e.Data) != "false" {
					t.Errorf("got %s, want false", e.Data)
				}
			})
		})
	}
}

func TestGatewayResumeSeq(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, session := c.identify(usual)
		c.server.Gateway(discord.Disturbance{Kind: discord.GatewayDrop})
		synctest.Wait()
		c.resume(session, g.seq+1).expectClose(4007)
	})
}

func TestGatewayDisturbances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, discord.Options{Heartbeat: 10 * time.Second})
		g, session := c.identify(usual)
		c.server.Gateway(discord.Disturbance{Kind: discord.GatewayReconnect})
		g.expectOp(7)
		c.server.Gateway(discord.Disturbance{Kind: discord.GatewayBeat})
		g.expectOp(1)
		g.write(1, g.seq)
		g.expectOp(11)
		c.server.Gateway(discord.Disturbance{Kind: discord.GatewayInvalidate, Resumable: true})
		if e := g.expectOp(9); string(e.Data) != "true" {
			t.Errorf("got %s, want a session that can be resumed", e.Data)
		}
		g.write(6, object{"token": c.server.Token(), "session_id": session, "seq": g.seq})
		g.expect("RESUMED")

		// Over a zombie connection, the client must receive nothing. When the client resumes the session, it must receive the
		// missed events.
		c.server.Gateway(discord.Disturbance{Kind: discord.GatewayZombie})
		g.write(1, g.seq)
		c.say(discord.Incoming{Text: "lost"})
		pause(12 * time.Second)
		c.server.Gateway(discord.Disturbance{Kind: discord.GatewayMute})
		mute := c.connect("")
		synctest.Wait() // wait, so that this connection is the one that gets no Hello
		h := c.resume(session, g.seq)
		if m := h.expect("MESSAGE_CREATE").message(t); m.Content != "lost" {
			t.Errorf("replay: got %q", m.Content)
		}
		h.expect("RESUMED")
		if st := c.server.Stats(); st.Heartbeats != 2 || st.Violations.Total() != 0 {
			t.Errorf("stats: got %+v", st)
		}
		pause(10 * time.Second)
		h.write(1, h.seq)
		h.expectOp(11)
		mute.expectClose(4009) // without a Hello, the client sends no heartbeat, so the server closes the connection
		c.server.Restart(time.Second)
		if _, err := h.next(); err == nil || websocket.CloseStatus(err) != -1 {
			t.Errorf("after a restart: got %v, want a cut connection", err)
		}
	})
}

func TestGatewayCompression(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		conn, _, err := websocket.Dial(t.Context(), "ws://standin/?v=10&compress=zlib-stream", &websocket.DialOptions{HTTPClient: c.http}) //nolint:bodyclose // the response needs no Close
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.CloseNow() }()
		in, out := newStream(t)
		for range 2 {
			if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"op":1,"d":null}`)); err != nil {
				t.Fatal(err)
			}
			kind, data, err := conn.Read(t.Context())
			if err != nil || kind != websocket.MessageBinary {
				t.Fatalf("got %v (%v), want binary", kind, err)
			}
			in(data)
		}
		for _, op := range []int{10, 11} {
			var e event
			if err := out.Decode(&e); err != nil || e.Op != op {
				t.Errorf("got op %d (%v), want %d", e.Op, err, op)
			}
		}
	})
}

func TestGatewayPayloadCompression(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g := c.connect("")
		g.expectOp(10)
		g.write(2, object{"token": "Bot " + c.server.Token(), "intents": guilds, "properties": object{}, "compress": true})
		g.expect("READY")
		kind, data, err := g.conn.Read(t.Context())
		if err != nil || kind != websocket.MessageBinary {
			t.Fatalf("got %v (%v), want the guild compressed", kind, err)
		}
		in, out := newStream(t)
		in(data)
		var e event
		if err := out.Decode(&e); err != nil || e.Type != "GUILD_CREATE" {
			t.Errorf("got %s (%v)", e.Type, err)
		}
	})
}

func TestGuildMembership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, _ := c.identify(usual)
		c.server.Kick("")
		g.expect("GUILD_DELETE")
		if r := c.send(general, "x"); r.Status != 403 || r.code() != 50001 {
			t.Errorf("got %d %s, want 50001", r.Status, r.Raw)
		}
		c.say(discord.Incoming{Channel: general, Text: "alone"})
		c.server.Invite("")
		var d struct {
			Channels []json.RawMessage `json:"channels"`
		}
		if err := json.Unmarshal(g.expect("GUILD_CREATE").Data, &d); err != nil || len(d.Channels) != 1 {
			t.Errorf("guild: got %d channels (%v), want 1", len(d.Channels), err)
		}
		if r := c.send(general, "x"); r.Status != 200 {
			t.Errorf("got %d %s", r.Status, r.Raw)
		}
	})
}
