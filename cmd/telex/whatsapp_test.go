package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
	"telex/standin/whatsapp"
)

// phone is a world with a number on WhatsApp.
type phone struct {
	*world
	whatsapp *whatsapp.Server
	url      string // URL of the Graph API
	callback string // URL at which the daemon receives webhooks
}

func newPhone(t *testing.T) *phone {
	t.Helper()
	p := &phone{
		world: newWorld(t, telegram.Options{}, openai.Options{}), callback: "http://" + freeAddress(t) + "/whatsapp",
		whatsapp: whatsapp.New(whatsapp.Options{Latency: 10 * time.Millisecond}),
	}
	p.url = serve(t, p.whatsapp, listen(t))
	return p
}

// run starts a daemon whose only bot is on WhatsApp, and connects the stand-in to it by Meta's handshake.
func (p *phone) run(more string) *process {
	p.t.Helper()
	address := strings.TrimSuffix(strings.TrimPrefix(p.callback, "http://"), "/whatsapp")
	d := p.daemon(sections{
		platforms: fmt.Sprintf("{whatsapp: {access_token: %q, phone_number_id: %q, app_secret: %q, verify_token: %q, listen: %q, api_base: %q}}",
			p.whatsapp.Token(), whatsapp.PhoneNumberID, p.whatsapp.AppSecret(), p.whatsapp.VerifyToken(), address, p.url),
		streaming: "{whatsapp: true}", // has no effect, because WhatsApp has no edits
		more:      more,
	})
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	if err := p.whatsapp.SetCallback(ctx, p.callback); err != nil {
		p.t.Fatalf("the handshake: %v", err)
	}
	return d
}

// say lets the person write, and returns the message's id.
func (p *phone) say(in whatsapp.Incoming) string {
	p.t.Helper()
	id, err := p.whatsapp.Say(in)
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

// sees returns the bot's messages.
func (p *phone) sees() []whatsapp.Message {
	return slices.DeleteFunc(p.whatsapp.History(""), func(m whatsapp.Message) bool { return !m.FromBot })
}

// shown returns the texts of the bot's messages.
func (p *phone) shown() []string {
	var texts []string
	for _, m := range p.sees() {
		texts = append(texts, m.Shown())
	}
	return texts
}

// awaitShown waits until there are n messages of the bot, and returns the newest.
func (p *phone) awaitShown(n int) whatsapp.Message {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*patience)
	defer cancel()
	events := p.whatsapp.Watch(ctx)
	if len(p.sees()) < n {
		for range events {
			if len(p.sees()) >= n {
				break
			}
		}
	}
	list := p.sees()
	if len(list) < n {
		p.t.Fatalf("the person sees %q, want %d messages", p.shown(), n)
	}
	return list[n-1]
}

// wantGood checks that the daemon changed no message, showed no cursor, and exceeded no limit.
func (p *phone) wantGood() {
	p.t.Helper()
	if st := p.whatsapp.Stats(); st.Violations.Total() > 0 || st.EditAttempts > 0 || st.Failed > 0 {
		p.t.Errorf("%+v, %d attempts to edit, %d messages failed", st.Violations, st.EditAttempts, st.Failed)
	}
	for _, m := range p.sees() {
		if strings.Contains(m.Shown(), strings.TrimSpace(cursor)) {
			p.t.Errorf("shown was a cursor: %q", m.Shown())
		}
	}
}

// The bot must answer a picture, and a reply to its own answer. The bot must also make a tool call that a person
// approves with a button, and complete an answer after a kill.
func TestWhatsApp(t *testing.T) {
	t.Parallel()
	p, bench := newPhone(t), newWorkbench(t)
	question, rules := party("Ada")
	for _, r := range append(rules,
		openai.Rule{Match: "And why?", Do: `say="Because it was _drawn_ so."`},
		openai.Rule{Match: "What is this?", Do: `say="A **grey** picture."`},
		// This answer never ends by itself, so that the test can kill the daemon before the end of the answer.
		openai.Rule{Match: "Tell me more", Times: 1, Do: `say="never" delay=1h`},
		openai.Rule{Match: "Tell me more", Do: `say="There is no more."`},
	) {
		if err := p.model.Rule(r); err != nil {
			t.Fatal(err)
		}
	}
	daemon := p.run(bench.section())
	daemon.awaitLog("MCP server listed its tools", 1)

	asked := p.say(whatsapp.Incoming{Text: "What is this?", File: &whatsapp.Media{Type: "image", Mime: "image/png", Content: pngOf(t, 320, 200)}})
	first := p.awaitShown(1)
	if first.Shown() != "A *grey* picture." {
		t.Errorf("the picture is answered with %q", first.Shown())
	}
	if _, pictures := lastUser(t, p.model.Requests(), "What is this?"); pictures != 1 {
		t.Errorf("the model saw %d pictures", pictures)
	}
	for _, m := range p.whatsapp.History("") {
		if m.ID == asked && m.Read.IsZero() {
			t.Error("the question was not marked as read")
		}
	}
	if len(p.whatsapp.Chronicle("").Typings) == 0 {
		t.Error("nobody saw that the bot was typing")
	}

	p.say(whatsapp.Incoming{Text: "And why?", ReplyTo: asked})
	if m := p.awaitShown(2); m.Shown() != "Because it was _drawn_ so." {
		t.Errorf("the reply is answered with %q", m.Shown())
	}
	if text, _ := lastUser(t, p.model.Requests(), "And why?"); !strings.Contains(text, "What is this?") {
		t.Errorf("the model was not told what the reply is about: %q", text)
	}

	p.say(whatsapp.Incoming{Text: question})
	bench.letGo("stock", "Ada")
	bench.letGo("prices", "Ada")
	bench.letGo("order", "Ada")
	ask := p.awaitShown(3)
	if !strings.Contains(ask.Shown(), mayI) || len(ask.Last().Buttons) == 0 || bench.runs("order", "Ada") != 0 {
		t.Fatalf("the question is %q with %+v", ask.Shown(), ask.Last().Buttons)
	}
	if _, err := p.whatsapp.Press("", ask.ID, "Approve"); err != nil {
		t.Fatal(err)
	}
	if m := p.awaitShown(4); m.Shown() != saysAll || bench.runs("order", "Ada") != 1 {
		t.Errorf("the answer is %q, and the tool ran %d times", m.Shown(), bench.runs("order", "Ada"))
	}
	if _, err := p.whatsapp.Press("", ask.ID, "Deny"); err != nil { // this button press comes too late, so it must have no effect
		t.Fatal(err)
	}

	p.say(whatsapp.Incoming{Text: "Tell me more"})
	if !p.model.Wait(t.Context(), func(s openai.Stats) bool { return s.Active == 1 }) {
		t.Fatal("the model was not asked")
	}
	daemon.kill()
	daemon = daemon.again()
	if m := p.awaitShown(5); m.Shown() != "There is no more." {
		t.Errorf("after the kill stands %q", m.Shown())
	}
	daemon.awaitLog("turn ended", 1)
	if got := p.shown(); len(got) != 5 {
		t.Errorf("the person sees %q, want five messages", got)
	}
	p.wantGood()
	daemon.stop()
}

// deliver posts a webhook and returns the status of the answer.
func (p *phone) deliver(body []byte, signature string) (status int, err error) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.callback, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("X-Hub-Signature-256", signature)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Body.Close()
}

// cut begins to send a genuine webhook and breaks the connection in the middle.
func (p *phone) cut(body []byte) {
	p.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(p.callback, "http://"), "/whatsapp"))
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "POST /whatsapp HTTP/1.1\r\nHost: telex\r\nX-Hub-Signature-256: %s\r\nContent-Length: %d\r\n\r\n%s",
		whatsapp.Sign(p.whatsapp.AppSecret(), body), len(body), body[:len(body)/2])
	if err != nil {
		p.t.Fatal(err)
	}
	_ = conn.Close()
}
