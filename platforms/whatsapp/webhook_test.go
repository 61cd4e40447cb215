package whatsapp

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/standin/memnet"
)

// sign returns the signature that Meta puts into the header of a webhook.
func sign(body []byte) string {
	sum := hmac.New(sha256.New, []byte(secret))
	_, _ = sum.Write(body)
	return "sha256=" + hex.EncodeToString(sum.Sum(nil))
}

// accountAnswer is the response to a request for the phone number.
const accountAnswer = `{"id":"` + numberID + `","verified_name":"Telex","display_phone_number":"15550783881"}`

// station is a bot that receives messages, together with the client that delivers webhooks to the bot.
type station struct {
	t        *testing.T
	bot      *Bot
	client   *http.Client
	listener *memnet.Listener
	log      conformance.Log
	ctx      context.Context //nolint:containedctx // Every Run of the bot gets this context.
	stop     context.CancelFunc
	done     chan error // receives the error of Run
	accepted []chat.Inbound
	refuse   error // the error that the function accept returns; nil: accept succeeds
}

// listening runs a bot in virtual time and calls the function test.
func listening(t *testing.T, test func(*station)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(start(t, 0)) })
}

// start runs a bot until the test ends. The parameter ahead says how far the clock of this machine is ahead of Meta's
// clock.
func start(t *testing.T, ahead time.Duration) *station {
	t.Helper()
	s := &station{t: t, done: make(chan error, 1)}
	s.bot = New(Options{
		AccessToken: token, PhoneNumberID: numberID, AppSecret: secret, VerifyToken: verify,
		HTTP: roundTripper(func(r *http.Request) (*http.Response, error) {
			date := time.Now().Add(-ahead).UTC().Format(http.TimeFormat)
			return &http.Response{StatusCode: 200, Header: http.Header{"Date": {date}}, Body: io.NopCloser(strings.NewReader(accountAnswer)), Request: r}, nil
		}),
		Log:      slog.New(slog.NewTextHandler(&s.log, nil)),
		Listener: func(context.Context) (net.Listener, error) { return s.listener, nil },
	})
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return s.listener.Dial(ctx, network, address)
	}
	s.client = &http.Client{Transport: &http.Transport{DialContext: dial, ExpectContinueTimeout: time.Minute}}
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(t.Context()))
	s.run()
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		s.stop()
		<-s.done
		untilLingerEnds()
	})
	return s
}

// run starts Run with a new listener.
func (s *station) run() {
	s.listener = memnet.Listen()
	go func() {
		s.done <- s.bot.Run(s.ctx, chat.Resume{}, func(_ context.Context, in chat.Inbound) error {
			if s.refuse == nil {
				s.accepted = append(s.accepted, in)
			}
			return s.refuse
		})
	}()
}

// untilLingerEnds waits until the server has closed all refused connections. The server keeps each refused connection
// open for half a second, even after Run has ended, so that the client can read the refusal.
func untilLingerEnds() {
	stacks := make([]byte, 4<<20)
	for tick := time.Tick(50 * time.Millisecond); strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "closeWriteAndWait"); {
		<-tick
	}
}

// deliver sends a webhook with a signature and returns the status of the response.
func (s *station) deliver(body []byte, signature string) int {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://telex.test/whatsapp", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if signature != "" {
		req.Header.Set("X-Hub-Signature-256", signature)
	}
	if len(body) > maxBody { // without Expect, the server may close the connection before the client reads the response
		req.Header.Set("Expect", "100-continue")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode
}

func (s *station) wantTexts(want ...string) {
	s.t.Helper()
	var got []string
	for _, in := range s.accepted {
		got = append(got, in.Text)
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("accepted %q, want %q", got, want)
	}
}

// text returns a webhook with a text message.
func text(id, body string) []byte {
	return notify(fmt.Sprintf(`"contacts":[%s],"messages":[{"from":"16505551234","id":%q,"timestamp":"%d","type":"text","text":{"body":%q}}]`,
		sheena, id, time.Now().Unix(), body))
}

func TestWebhooksAreVerified(t *testing.T) {
	listening(t, func(s *station) {
		body := text("wamid.1", "hello")
		for name, c := range map[string]struct {
			body      []byte
			signature string
			want      int
		}{
			"no signature":      {body, "", 401},
			"half a signature":  {body, sign(body)[:30], 401},
			"another algorithm": {body, strings.Replace(sign(body), "sha256", "sha1", 1), 401},
			"not hexadecimal":   {body, strings.Replace(sign(body), sign(body)[10:12], "zz", 1), 401},
			"another signature": {body, sign([]byte("x")), 401},
			"another body":      {append(slices.Clone(body), ' '), sign(body), 401},
			"a truncated body":  {body[:len(body)/2], sign(body), 401},
			"too large":         {make([]byte, maxBody+1), sign(body), 413},
		} {
			if got := s.deliver(c.body, c.signature); got != c.want {
				t.Errorf("%s: %d, want %d", name, got, c.want)
			}
		}
		s.wantTexts()
		for range 3 { // simulate that Meta repeats the webhook, or that an attacker replays it
			if got := s.deliver(body, sign(body)); got != 200 {
				t.Errorf("the real one: %d", got)
			}
		}
		s.wantTexts("hello")
		for _, odd := range []string{"", "{", "null", `{"object":"page"}`} {
			if got := s.deliver([]byte(odd), sign([]byte(odd))); got != 200 {
				t.Errorf("%q, signed: %d", odd, got)
			}
		}
		s.wantTexts("hello")
		if log := s.log.String(); strings.Contains(log, "hidden") || strings.Contains(log, "hello") {
			t.Errorf("the log says %s", log)
		}
	})
}

// Meta describes the handshake by which it verifies a webhook's URL at
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/create-webhook-endpoint#get-requests
func TestHandshake(t *testing.T) {
	listening(t, func(s *station) {
		for query, want := range map[string]string{
			"hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=" + verify:   "200 1158201444",
			"hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=wrong":       "403",
			"hub.mode=subscribe&hub.challenge=1158201444":                              "403",
			"hub.mode=unsubscribe&hub.challenge=1158201444&hub.verify_token=" + verify: "403",
			"": "403",
		} {
			resp, err := s.client.Get("http://telex.test/any/path?" + query)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			got := fmt.Sprint(resp.StatusCode)
			if resp.StatusCode == http.StatusOK {
				got += " " + string(body)
			}
			if got != want || strings.Contains(string(body), verify) {
				t.Errorf("%q: %s, want %s", query, got, want)
			}
		}
	})
}

// In this test, the function accept fails, because the disk is full. The response to the webhook must have status 503,
// so that Meta repeats the webhook, and Run must return accept's error. When the bot runs again and Meta repeats the
// webhook, the bot must accept the message exactly once.
func TestAcceptFails(t *testing.T) {
	listening(t, func(s *station) {
		full := errors.New("disk full")
		s.refuse = full
		body := text("wamid.1", "hello")
		if got := s.deliver(body, sign(body)); got != http.StatusServiceUnavailable {
			t.Errorf("got %d", got)
		}
		if err := <-s.done; !errors.Is(err, full) {
			t.Errorf("Run = %v, want %v", err, full)
		}
		s.wantTexts()
		s.refuse = nil
		s.run()
		for range 2 {
			if got := s.deliver(body, sign(body)); got != http.StatusOK {
				t.Errorf("repeated: got %d", got)
			}
		}
		s.wantTexts("hello")
	})
}

// When WhatsApp reports that it could not deliver a message, the bot must log the cause and the number of undelivered
// messages.
func TestUndelivered(t *testing.T) {
	listening(t, func(s *station) {
		for i := range 2 {
			body := notify(fmt.Sprintf(`"statuses":[{"id":"wamid.%d","status":"read"},{"id":"wamid.%d","status":"failed","recipient_user_id":"US.1",`+
				`"errors":[{"code":131047,"title":"Re-engagement message","error_data":{"details":"more than 24 hours"}}]}]`, i, i))
			if got := s.deliver(body, sign(body)); got != 200 {
				t.Errorf("got %d", got)
			}
		}
		log := s.log.String()
		if strings.Count(log, "WhatsApp could not deliver a message") != 2 || !strings.Contains(log, "code=131047") || !strings.Contains(log, "failed_so_far=2") || !strings.Contains(log, "more than 24 hours") {
			t.Errorf("the log says %s", log)
		}
		s.wantTexts()
	})
}

// In this test, a message waited at Meta while the bot was not running. The bot must mark a message that waited at Meta
// as missed. The bot must not mark a new message as missed, even if this machine's clock is wrong.
func TestMissed(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, ahead)
			time.Sleep(time.Minute)
			written := func(id, said string, ago time.Duration) {
				now := time.Now()
				body := bytes.Replace(text(id, said), fmt.Appendf(nil, `"timestamp":"%d"`, now.Unix()), fmt.Appendf(nil, `"timestamp":"%d"`, now.Add(-ahead-ago).Unix()), 1)
				s.deliver(body, sign(body))
			}
			written("wamid.1", "old", 2*time.Minute)
			written("wamid.2", "new", 0)
			if s.wantTexts("old", "new"); !s.accepted[0].Missed || s.accepted[1].Missed {
				t.Errorf("with a clock that is %v ahead, accepted %+v", ahead, s.accepted)
			}
		})
	}
}

// In this test, a person replies to an edited message, and to a message of the bot. The bot must quote the current text
// of an edited message and of its own message.
func TestRepliesToWhatWasSaid(t *testing.T) {
	listening(t, func(s *station) {
		first := text("wamid.1", "a question")
		s.deliver(first, sign(first))
		edited := notify(`"contacts":[` + sheena + `],"messages":[{"from":"16505551234","id":"wamid.2","timestamp":"1","type":"edit","edit":{"original_message_id":"wamid.1","message":{"type":"text","text":{"body":"a better question"}}}}]`)
		s.deliver(edited, sign(edited))
		s.bot.rememberText("US.13491208655302741918", "wamid.S", chat.Quote{Own: true, Text: "an answer"})
		for i, to := range []string{"wamid.1", "wamid.S"} {
			reply := bytes.Replace(text(fmt.Sprintf("wamid.R%d", i), "why?"), []byte(`"type":"text"`), []byte(`"context":{"from":"1","id":"`+to+`"},"type":"text"`), 1)
			s.deliver(reply, sign(reply))
		}
		s.wantTexts("a question", "a better question", "why?", "why?")
		if q := s.accepted[2].Quotes; len(q) != 1 || q[0].Own || q[0].Author != "Sheena Nelson" || q[0].Text != "a better question" {
			t.Errorf("the first reply refers to %+v", q)
		}
		if q := s.accepted[3].Quotes; len(q) != 1 || !q[0].Own || q[0].Text != "an answer" {
			t.Errorf("the second reply refers to %+v", q)
		}
	})
}

// In this test, somebody sends ten thousand forged webhooks. The bot must refuse all forged webhooks, and the memory of
// the process must not grow.
func TestForgedWebhooksCostNothing(t *testing.T) { //nolint:paralleltest // the test measures the memory of the whole process.
	const most = 10 << 20 // bytes
	s := start(t, 0)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the fixed seed makes each run of the test equal.
	good := text("wamid.1", "hello")
	forge := func() ([]byte, string) {
		body := make([]byte, random.IntN(8<<10))
		for i := range body {
			body[i] = byte(random.Uint32())
		}
		switch random.IntN(4) {
		case 0: // the body is valid except for one changed bit
			body = slices.Clone(good)
			body[random.IntN(len(body))] ^= 1
		case 1:
			return body, ""
		case 2:
			return body, "sha256=" + strings.Repeat("0", random.IntN(80))
		}
		return body, sign(good)
	}
	flood := func(n int) {
		for range n {
			body, signature := forge()
			if got := s.deliver(body, signature); got != 401 {
				t.Fatalf("%.80q with %q: %d, want 401", body, signature, got)
			}
		}
	}
	forged := 10_000
	if raced {
		forged = 1000
	}
	flood(200) // create connections and buffers now, so that they don't count as growth later
	before := inUse()
	flood(forged)
	if used := int64(inUse()) - int64(before); used > most { //nolint:gosec // sizes of memory.
		t.Errorf("%d forged requests took %d KB, want %d at most", forged, used>>10, most>>10)
	}
	if got := s.deliver(good, sign(good)); got != 200 {
		t.Errorf("Meta's own request: %d", got)
	}
	s.wantTexts("hello")
}

// inUse returns how many bytes of memory the process uses.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// If Meta refuses the credentials, Run must fail, because the bot can't receive anything without them.
func TestRunChecksCredentials(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer answer
		want   chat.ErrorKind
	}{
		"expired":        {failing(401, 190, 463, "Error validating access token: "+token, ""), chat.Auth},
		"another number": {failing(400, 100, 33, "Object with ID does not exist", ""), chat.Auth},
		"unavailable":    {answer{status: 503}, chat.Temporary},
		"limited":        {failing(400, 4, 0, "(#4) too many", ""), chat.RateLimited},
		"something else": {answer{status: 200, body: `{"id":"1"}`}, chat.Temporary},
	} {
		a := connect(t, c.answer)
		err := a.Run(t.Context(), chat.Resume{}, nil)
		if chat.AsSendError(err).Kind != c.want || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
