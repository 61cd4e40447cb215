package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// closedPort is an address on loopback that refuses connections until open is called. The socket of a closedPort is
// bound from the start, so that no other process can take the port.
type closedPort struct {
	t       *testing.T
	file    int
	address string
}

func newClosedPort(t *testing.T) *closedPort {
	t.Helper()
	file, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(file, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(file)
	if err != nil {
		t.Fatal(err)
	}
	return &closedPort{t, file, fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)}
}

// open starts accepting connections.
func (c *closedPort) open() net.Listener {
	c.t.Helper()
	if err := syscall.Listen(c.file, syscall.SOMAXCONN); err != nil {
		c.t.Fatal(err)
	}
	f := os.NewFile(uintptr(c.file), c.address)
	l, err := net.FileListener(f) // FileListener duplicates the descriptor
	if err != nil {
		c.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		c.t.Fatal(err)
	}
	return l
}

func TestUnreachablePlatform(t *testing.T) {
	t.Parallel()
	port := newClosedPort(t)
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := launch{}.start(t, "run", "--config", w.config(sections{
		platforms: fmt.Sprintf("{telegram: {token: %q, api_base: \"http://%s\"}}", testToken, port.address),
	}))
	trouble := p.awaitLog("receiving is interrupted", 1)[0]
	if got := trouble.text("endpoint"); got != "telegram" {
		t.Errorf("the log names the endpoint %q, want telegram: %v", got, trouble)
	}
	if got := trouble.text("error"); !strings.Contains(got, "connection refused") {
		t.Errorf("the log says %q, want why", got)
	}

	late := telegram.New(telegram.Options{Token: testToken})
	late.Say(telegram.Incoming{User: ada, Text: "say: was it long?"})
	serve(t, late, port.open())
	p.awaitLog("turn ended", 1)
	list := late.History(ada)
	if len(list) != 2 || list[1].Text() != "was it long?" {
		t.Errorf("ada sees %+v, want the answer", list)
	}
	if n := len(p.logged("receiving is interrupted")); n != 1 {
		t.Errorf("the log says %d times that the platform can't be reached, want once", n)
	}
	p.stop()
}

// If a platform refuses a token, the endpoint with this token must stop, and the other endpoints must continue.
func TestWrongToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	other := telegram.New(telegram.Options{Token: "8000000001:AAanotherBot"})
	platforms := fmt.Sprintf("{telegram: {token: %q, api_base: %q}, support-bot: {kind: telegram, token: %q, api_base: %q}}",
		testToken, w.telegramURL, testToken, serve(t, other, listen(t)))
	p := w.daemon(sections{platforms: platforms})
	stopped := p.awaitLog("endpoint stopped", 1)[0]
	if stopped.text("endpoint") != "support-bot" || stopped.text("level") != "ERROR" || !strings.Contains(stopped.text("error"), "Unauthorized") {
		t.Errorf("the log says %v, want that support-bot stopped and why", stopped)
	}
	w.ask("say: still here")
	p.awaitLog("turn ended", 1)
	w.wantTexts(ada, "still here")
	if calls := len(other.Calls()); calls != 0 {
		t.Errorf("%d calls got through with the wrong token", calls)
	}
	p.stop()
}

// If the only endpoint of a daemon stops, the daemon must keep running, so that the service manager does not restart it
// again and again.
func TestWrongTokenAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{Token: "8000000001:AAanotherBot"}, openai.Options{})
	m := newManager(t)
	p := launch{env: []string{"NOTIFY_SOCKET=" + m.path, "WATCHDOG_USEC=300000"}}.start(t, "run", "--config", w.config(sections{}))
	p.awaitLog("endpoint stopped", 1)
	for alive := 0; alive < 3; {
		if m.hear() == "WATCHDOG=1" {
			alive++
		}
	}
	p.stop()
}

// F55: two daemons use the same token. Each daemon must report the conflict and keep running.
func TestTwoDaemonsWithOneToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	first := w.daemon(sections{})
	second := w.daemon(sections{})
	const said = "another process polls with the same token: stop it, or give one of the two a bot of its own"
	for _, p := range []*process{first, second} {
		e := p.awaitLog(said, 1)[0]
		if e.text("endpoint") != "telegram" || e.text("level") != "WARN" {
			t.Errorf("the log says %v, want a warning of the endpoint telegram", e)
		}
	}
	second.stop()
	if !first.running() {
		t.Error("the first daemon has ended")
	}
	w.ask("say: alone again")
	w.await("the answer", func() bool { return len(w.texts(ada)) == 1 })
	w.wantTexts(ada, "alone again")
	first.stop()
}

const (
	supportToken = "7000000002:AAsupportBotOfTheWholeProcessTests"
	mentionsUs   = "@telex_bot "
)

// Two bots on the same platform must each use their own configuration.
func TestTwoEndpointsOfOneKind(t *testing.T) {
	t.Parallel()
	for _, environment := range []string{"", "true", "false"} {
		t.Run("TELEX_STREAMING_ENABLED="+environment, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, telegram.Options{}, openai.Options{})
			support := telegram.New(telegram.Options{Token: supportToken, Username: "support_bot"})
			p := w.daemon(sections{
				streaming: "{enabled: true, telegram: true, support-bot: {enabled: false}}",
				access:    `{allow: ["telegram:user:1001", "support-bot:*"]}`,
				platforms: fmt.Sprintf("{telegram: {token: %q, api_base: %q}, support-bot: {kind: telegram, token: %q, api_base: %q}}",
					testToken, w.telegramURL, supportToken, serve(t, support, listen(t))),
			}, "TELEX_STREAMING_ENABLED="+environment)
			w.ask("words: 120")
			support.Say(telegram.Incoming{User: 4004, Text: "words: 121"})
			p.awaitLog("turn ended", 2)
			w.wantTexts(ada, openai.Answer("words: 120"))
			checkSteps(t, w.replies(ada)[0], 2)
			list := support.History(4004)
			if len(list) != 2 || list[1].Text() != openai.Answer("words: 121") || len(list[1].Versions) != 1 {
				t.Errorf("the other bot's chat is %+v, want the answer in one send", list)
			}
		})
	}
}

// The environment takes precedence over streaming.enabled, and an endpoint's own setting takes precedence over the
// environment.
func TestPrecedenceOfStreaming(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		streaming, environment string
		want                   bool
	}{
		{"{}", "", false},
		{"{}", "yes", true},
		{"{enabled: true}", "", true},
		{"{enabled: true}", "0", false},
		{"{enabled: false}", "1", true},
		{"{enabled: false, telegram: true}", "no", true},
		{"{enabled: true, telegram: false}", "true", false},
		{"{enabled: true, telegram: {min_tokens: 10}}", "false", false},
	} {
		t.Run(c.streaming+" "+c.environment, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, telegram.Options{}, openai.Options{})
			p := w.daemon(sections{streaming: c.streaming}, "TELEX_STREAMING_ENABLED="+c.environment)
			w.ask("words: 60")
			p.awaitLog("turn ended", 1)
			w.wantTexts(ada, openai.Answer("words: 60"))
			if got := len(w.replies(ada)[0].Versions) > 1; got != c.want {
				t.Errorf("the answer was shown while it was written: %t, want %t", got, c.want)
			}
			if !w.model.Requests()[0].Stream { // the model request streams anyway, so that telex notices a silent model
				t.Error("the model was not asked to stream")
			}
		})
	}
}

func TestGroupsAndTopics(t *testing.T) {
	t.Parallel()
	const group, forum = -2002, -1000000003003
	w := newWorld(t, telegram.Options{ReadAll: true}, openai.Options{})
	p := w.daemon(sections{})
	w.telegram.Say(telegram.Incoming{Chat: group, User: 5, Text: "words: 7"})
	asked := w.telegram.Say(telegram.Incoming{Chat: group, User: 6, Text: mentionsUs + "words: 8"})
	p.awaitLog("turn ended", 1)
	inTopic := w.telegram.Say(telegram.Incoming{Chat: forum, User: 6, ThreadID: 17, Text: mentionsUs + "words: 100"})
	p.awaitLog("turn ended", 2)
	answer := w.replies(group)[0]
	w.telegram.Say(telegram.Incoming{Chat: group, User: 7, ReplyTo: answer.ID, Text: "words: 9"})
	p.awaitLog("turn ended", 3)

	w.wantTexts(group, openai.Answer("words: 8"), openai.Answer("words: 9"))
	if answer.ReplyTo != asked {
		t.Errorf("the answer refers to message %d, want %d", answer.ReplyTo, asked)
	}
	w.wantTexts(forum, openai.Answer("words: 100"))
	if m := w.replies(forum)[0]; m.ThreadID != 17 || !m.Topic || m.ReplyTo != inTopic || len(m.Versions) < 2 {
		t.Errorf("the answer in the topic is %+v, want it in topic 17, as a reply to %d, growing", m, inTopic)
	}
	if n := len(w.model.Requests()); n != 3 {
		t.Errorf("the model was asked %d times, want 3: not what nobody asked the bot", n)
	}
}
