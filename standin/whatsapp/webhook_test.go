package whatsapp_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/fault"
	"telex/standin/memnet"
	"telex/standin/whatsapp"
)

func TestSignature(t *testing.T) {
	t.Parallel()
	// This key and this text are test case 2 of RFC 4231.
	if got, want := whatsapp.Sign("Jefe", []byte("what do ya want for nothing?")), "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c := start(t, whatsapp.Options{AppSecret: "secret", BatchWindow: time.Millisecond})
	events := c.server.Watch(t.Context())
	c.say(whatsapp.Incoming{Text: "hi"})
	for e := range events {
		if e.Kind == "delivery" {
			break
		}
	}
	w := c.app.webhooks()[0]
	if w.header.Get("X-Hub-Signature-256") != whatsapp.Sign("secret", w.raw) || w.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %v", w.header)
	}
}

// The app does not respond to a webhook with 200. The server must send the webhook again at once, and then after
// growing waits, for 7 days.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		answers := []int{500, 404, 204, 301}
		c.app.answers(func(n int) (int, time.Duration) {
			switch {
			case n < len(answers):
				return answers[n], 0
			case n == len(answers):
				return http.StatusOK, 11 * time.Second // the app responds later than the timeout
			}
			return http.StatusOK, 0
		})
		c.say(whatsapp.Incoming{Text: "hi"})
		pause(time.Hour)
		got := c.app.webhooks()
		var waits []time.Duration
		for i, w := range got {
			if string(w.raw) != string(got[0].raw) {
				t.Errorf("attempt %d is another webhook", i)
			}
			if i > 0 {
				waits = append(waits, w.at.Sub(got[i-1].at))
			}
		}
		want := []time.Duration{0, time.Second, 5 * time.Second, 15 * time.Second, 70 * time.Second} // the last attempt follows a timeout of 10 s
		if !slices.Equal(waits, want) {
			t.Errorf("waits: got %v, want %v", waits, want)
		}
		d := c.server.Deliveries()[0]
		var failures []string
		for _, a := range d.Attempts {
			failures = append(failures, a.Failed)
		}
		if d.Acked.IsZero() || d.Kind != "message" || !slices.Equal(failures, []string{"status", "status", "status", "status", "timeout", ""}) {
			t.Errorf("delivery: got %+v", d)
		}
		if st := c.server.Stats(); st.Deliveries != 6 || st.Redelivered != 5 || st.Pending != 0 || st.Lost != 0 {
			t.Errorf("stats: got %+v", st)
		}
		c.app.answers(func(int) (int, time.Duration) { return http.StatusInternalServerError, 0 })
		c.say(whatsapp.Incoming{Text: "never taken"})
		pause(6 * 24 * time.Hour)
		if st := c.server.Stats(); st.Pending != 1 || st.Lost != 0 {
			t.Errorf("after 6 days: got %+v", st)
		}
		pause(3 * 24 * time.Hour)
		if st := c.server.Stats(); st.Pending != 0 || st.Lost != 1 {
			t.Errorf("after 9 days: got %+v", st)
		}
	})
}

func TestRedeliver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		c.app.answers(func(int) (int, time.Duration) { return http.StatusBadGateway, 0 })
		c.say(whatsapp.Incoming{Text: "hi"})
		pause(2 * time.Minute)
		n := len(c.app.webhooks())
		c.app.answers(nil)
		if got := c.server.Redeliver(); got != 1 {
			t.Errorf("got %d, want 1", got)
		}
		synctest.Wait()
		if got := len(c.app.webhooks()); got != n+1 || c.server.Deliveries()[0].Acked.IsZero() {
			t.Errorf("got %d webhooks after %d", got, n)
		}
	})
}

// TestOrder checks that webhooks about one person arrive in order, even if the app is slow. Webhooks about other people
// must not wait for these webhooks.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		c.app.answers(func(int) (int, time.Duration) { return http.StatusOK, time.Second })
		began := time.Now()
		for _, text := range []string{"1", "2", "3"} {
			c.say(whatsapp.Incoming{Text: text})
			c.say(whatsapp.Incoming{User: "US.15550001002", Text: "other " + text})
		}
		pause(time.Minute)
		var texts []string
		for _, w := range c.app.webhooks() {
			m := w.Entry[0].Changes[0].Value.Messages[0]
			if m.FromUserID == user {
				texts = append(texts, m.Text.Body)
			}
		}
		if !slices.Equal(texts, []string{"1", "2", "3"}) {
			t.Errorf("got %q", texts)
		}
		list := c.app.webhooks()
		if took := list[len(list)-1].at.Sub(began); took != 2*time.Second {
			t.Errorf("took %v, want 2s", took)
		}
	})
}

// Each of the webhooks a to f is hit by a different fault. The test checks in which order the webhooks arrive, and
// which ones are signed.
func TestWebhookFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		for nth, f := range []whatsapp.Fault{
			{Action: whatsapp.ActDuplicate, Delay: time.Minute},
			{Action: whatsapp.ActDrop},
			{Action: whatsapp.ActReorder},
			{Action: fault.Latency, Delay: 2 * time.Second},
			{Action: whatsapp.ActBadSignature},
			{Action: whatsapp.ActNoSignature},
		} {
			f.Method, f.Contains = "message", `"body":"`+string(rune('a'+nth))+`"`
			f.Times = 1
			c.server.Fault(f)
		}
		for _, text := range []string{"a", "b", "c", "d", "e", "f"} {
			c.say(whatsapp.Incoming{Text: text})
		}
		pause(time.Hour)
		var texts strings.Builder
		signed := map[string]int{}
		for _, w := range c.app.webhooks() {
			text := w.Entry[0].Changes[0].Value.Messages[0].Text.Body
			texts.WriteString(text)
			if w.header.Get("X-Hub-Signature-256") == whatsapp.Sign(whatsapp.DefaultAppSecret, w.raw) {
				signed[text]++
			} else if text != "e" && text != "f" {
				t.Errorf("%s: not signed", text)
			}
		}
		// The first request with the webhook b is lost, so the server repeats this request at once. The server delays the
		// webhook d by 2 s, so e and f arrive after d. Other webhooks do not wait for the webhook c, which is only one second
		// late. The server sends the webhook a again after a minute.
		if got := texts.String(); got != "abcdefa" {
			t.Errorf("got %q, want %q", got, "abcdefa")
		}
		if signed["e"]+signed["f"] != 0 {
			t.Errorf("signed: got %v", signed)
		}
		c.server.Fault(whatsapp.Fault{Method: "message", Times: 1, Action: whatsapp.ActReorder, Delay: 3 * time.Second})
		n := len(c.app.webhooks())
		for _, text := range []string{"late", "early"} {
			c.say(whatsapp.Incoming{Text: text})
		}
		pause(time.Minute)
		got := c.app.webhooks()[n:]
		if first, second := got[0].Entry[0].Changes[0].Value.Messages[0], got[1].Entry[0].Changes[0].Value.Messages[0]; first.Text.Body != "early" || second.Text.Body != "late" {
			t.Errorf("got %s, then %s", first.Text.Body, second.Text.Body)
		}
	})
}

// TestBatches checks that one request may contain several entries, changes and messages.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, whatsapp.Options{BatchWindow: time.Second})
		var said []string
		for _, who := range []string{user, "US.15550001002", user, user, user} {
			said = append(said, c.say(whatsapp.Incoming{User: who, Text: "x"}))
		}
		c.ok(text("y"))
		pause(time.Minute)
		got := c.app.webhooks()
		if len(got) != 1 {
			t.Fatalf("got %d webhooks, want 1", len(got))
		}
		w := got[0]
		if w.Object != "whatsapp_business_account" || len(w.Entry) != 2 || w.Entry[0].ID != whatsapp.AccountID || len(w.Entry[0].Changes) != 2 || w.Entry[0].Changes[0].Field != "messages" {
			t.Errorf("got %s", w.raw)
		}
		first := w.Entry[0].Changes[0].Value
		if len(first.Messages) != 2 || len(first.Contacts) != 2 || len(w.Entry[0].Changes[1].Value.Contacts) != 1 {
			t.Errorf("got %s", w.raw)
		}
		var told []string
		for _, m := range c.app.inbound() {
			told = append(told, m.ID)
		}
		if !slices.Equal(told, said) {
			t.Errorf("got %q, want %q", told, said)
		}
		if n := len(c.app.statuses()); n != 2 {
			t.Errorf("got %d statuses, want 2", n)
		}
		if d := c.server.Deliveries()[0]; d.Kind != "message" || len(d.Users) != 2 || len(d.Messages) != 7 {
			t.Errorf("delivery: got %+v", d)
		}
	})
}

func TestHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		c.app.verifyToken = "another"
		if err := c.server.SetCallback(t.Context(), callback); err == nil || !strings.Contains(err.Error(), "403") {
			t.Errorf("another token: got %v", err)
		}
		if err := c.server.Verify(t.Context(), callback+"?a=b", "another"); err != nil {
			t.Errorf("the right token: %v", err)
		}
		for _, target := range []string{"http://app\x7f", "", "ftp://app/"} {
			if err := c.server.Verify(t.Context(), target, "another"); err == nil {
				t.Errorf("%q: got no error", target)
			}
		}
		if err := c.server.SetCallback(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		c.say(whatsapp.Incoming{Text: "lost"})
		pause(time.Hour)
		if st := c.server.Stats(); len(c.app.webhooks()) != 0 || st.Lost != 1 || st.Pending != 0 || !c.server.Deliveries()[0].Lost {
			t.Errorf("without callback: got %+v", st)
		}
	})
}

// Nothing listens at the callback URL. The server must repeat the delivery again and again, until Reset drops the
// delivery.
func TestUnreachableApp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := whatsapp.New(whatsapp.Options{CallbackURL: callback, Dial: memnet.Refuse})
		memnet.Serve(t, s)
		if _, err := s.Say(whatsapp.Incoming{Text: "hi"}); err != nil {
			t.Fatal(err)
		}
		pause(time.Minute)
		d := s.Deliveries()[0]
		if len(d.Attempts) != 5 || d.Attempts[0].Failed != "connection" || d.Lost {
			t.Errorf("got %+v", d)
		}
		s.Reset()
		pause(time.Hour)
		if st := s.Stats(); st.Pending != 0 || st.Deliveries != 0 || len(s.Persons()) != 0 {
			t.Errorf("after Reset: got %+v", st)
		}
	})
}
