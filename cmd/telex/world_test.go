package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"telex/internal/outside"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// ada is the user id of the person who writes in private chats, unless a test says otherwise.
const ada = 1001

// cursor is the cursor that telex shows if the configuration sets none.
const cursor = " ▌"

// world is the environment of a daemon: a platform and a model provider on loopback.
type world struct {
	t                     *testing.T
	telegram              *telegram.Server
	model                 *openai.Server
	telegramURL, modelURL string
}

// newWorld starts a stand-in for Telegram and one for the model provider. By default, both stand-ins use the token and
// the key of these tests, a latency of 10 ms and a rate of 200 tokens per second.
func newWorld(t *testing.T, to telegram.Options, mo openai.Options) *world {
	t.Helper()
	to.Token, to.Latency = cmp.Or(to.Token, testToken), cmp.Or(to.Latency, 10*time.Millisecond)
	mo.Key, mo.Rate = cmp.Or(mo.Key, testKey), cmp.Or(mo.Rate, 200)
	w := &world{t: t, telegram: telegram.New(to), model: openai.New(mo)}
	w.telegramURL = serve(t, w.telegram, listen(t))
	w.modelURL = serve(t, w.model, listen(t))
	return w
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// freeAddress returns a loopback address with a free port.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := outside.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// serve runs a server until the test ends, and returns the server's address.
func serve(t *testing.T, s interface {
	Serve(l net.Listener) error
	Close() error
}, l net.Listener,
) string {
	t.Helper()
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close stand-in: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve stand-in: %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

// sections contains the sections of a configuration. For an empty section, the method config uses the section's
// default.
type sections struct {
	models, streaming, access, platforms string
	admin                                string // empty: no admin address
	more                                 string // further sections
}

// config writes a configuration file for the world. By default, everybody has access, replies stream, and there is one
// endpoint, called telegram.
func (w *world) config(s sections) string {
	w.t.Helper()
	text := strings.Join([]string{
		"models: " + cmp.Or(s.models, fmt.Sprintf("[{name: main, base_url: %q, api_key: %q, model: standin}]", w.modelURL+"/v1", testKey)),
		"streaming: " + cmp.Or(s.streaming, "{telegram: true}"),
		"access: " + cmp.Or(s.access, "{default: allow}"),
		"platforms: " + cmp.Or(s.platforms, fmt.Sprintf("{telegram: {token: %q, api_base: %q}}", testToken, w.telegramURL)),
		"admin: " + cmp.Or(s.admin, `{listen: ""}`),
		s.more, "",
	}, "\n")
	return writeConfig(w.t, text)
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// daemon starts a daemon with the configuration, and waits until the daemon receives messages.
func (w *world) daemon(s sections, env ...string) *process {
	w.t.Helper()
	p := launch{env: env}.start(w.t, "run", "--config", w.config(s))
	p.awaitLog("receiving", 1)
	return p
}

// ask lets ada write to the bot and returns the message's id.
func (w *world) ask(text string) int {
	return w.telegram.Say(telegram.Incoming{User: ada, FirstName: "Ada", Text: text})
}

// replies returns the bot's messages in a chat that are not deleted, oldest first.
func (w *world) replies(chat int64) []telegram.Message {
	var list []telegram.Message
	for _, m := range w.telegram.History(chat) {
		if m.FromBot && m.Alive() {
			list = append(list, m)
		}
	}
	return list
}

// texts returns the texts of the bot's messages in a chat.
func (w *world) texts(chat int64) []string {
	var list []string
	for _, m := range w.replies(chat) {
		list = append(list, m.Text())
	}
	return list
}

// await waits until ok returns true. await calls the function ok after each event on the platform.
func (w *world) await(what string, ok func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	events := w.telegram.Watch(ctx)
	if ok() {
		return
	}
	for range events {
		if ok() {
			return
		}
	}
	w.t.Fatalf("waited in vain for %s; ada sees %q", what, w.texts(ada))
}

// awaitGrowth waits until the bot has shown answer n to ada and has edited it at least once.
func (w *world) awaitGrowth(n int) telegram.Message {
	w.t.Helper()
	var newest telegram.Message
	w.await("an answer that grows", func() bool {
		list := w.replies(ada)
		if len(list) < n {
			return false
		}
		newest = list[len(list)-1]
		return len(newest.Versions) >= 2
	})
	return newest
}

// wantTexts checks the texts of the bot's messages in a chat.
func (w *world) wantTexts(chat int64, want ...string) {
	w.t.Helper()
	got := w.texts(chat)
	if len(got) != len(want) {
		w.t.Fatalf("chat %d shows %d messages, want %d:\ngot  %q\nwant %q", chat, len(got), len(want), got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			w.t.Errorf("chat %d, message %d:\ngot  %q\nwant %q", chat, i+1, got[i], want[i])
		}
	}
}

// checkSteps checks that a message was visible, with a cursor, while the answer was still being written. The parameter
// least is the minimum number of versions of the message. All versions of the message except the last must have had a
// cursor.
func checkSteps(t *testing.T, m telegram.Message, least int) {
	t.Helper()
	if len(m.Versions) < least {
		t.Errorf("the message was shown in %d steps, want at least %d", len(m.Versions), least)
	}
	for i, v := range m.Versions {
		if has, want := strings.HasSuffix(v.Text, cursor), i < len(m.Versions)-1; has != want {
			t.Errorf("version %d of %d ends with a cursor: %t, want %t\n%q", i+1, len(m.Versions), has, want, v.Text)
		}
	}
}

// checkStopped checks that a message shows the beginning of a plain-text answer without a cursor, and below it the text
// that telex adds to a stopped answer. checkStopped returns this beginning.
func checkStopped(t *testing.T, text, answer string) string {
	t.Helper()
	shown, marked := strings.CutSuffix(text, "\n\n(stopped)")
	if !marked {
		t.Errorf("what stays does not say that it was stopped: %q", text)
	}
	checkPrefix(t, shown, answer)
	return shown
}

// checkPrefix checks that a message shows the beginning of a plain-text answer, without a cursor.
func checkPrefix(t *testing.T, text, answer string) {
	t.Helper()
	if strings.Contains(text, strings.TrimSpace(cursor)) || text == "" || !strings.HasPrefix(answer, text) {
		t.Errorf("what stays is not the beginning of the answer, without a cursor:\ngot    %q\nanswer %q", text, answer)
	}
}
