package whatsapp_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/fault"
	"telex/standin/whatsapp"
)

// TestPairRate checks that the business can send one person a burst of 45 messages, and then one message every 6
// seconds.
func TestPairRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, whatsapp.Options{})
		other := "15550001002"
		for _, who := range []string{phone, other} {
			c.say(whatsapp.Incoming{User: who, Text: "hi"})
		}
		for range 45 {
			c.ok(text("x"))
		}
		r := c.post(text("x"))
		if r.Status != http.StatusBadRequest || r.Error.Code != whatsapp.CodePair || !strings.HasPrefix(r.Error.Message, "(#131056) ") || r.Error.ErrorData.Product != "whatsapp" || r.Error.ErrorData.Details == "" || r.Header.Get("Retry-After") != "" {
			t.Errorf("got %d %s", r.Status, r.Raw)
		}
		c.ok(strings.Replace(text("x"), phone, other, 1))
		c.ok(`{"messaging_product":"whatsapp","status":"read","message_id":"` + c.server.History(user)[0].ID + `"}`)
		pause(5900 * time.Millisecond)
		if r := c.post(text("x")); r.Error.Code != whatsapp.CodePair {
			t.Errorf("after 5.9 s: got %s", r.Raw)
		}
		pause(100 * time.Millisecond)
		c.ok(text("x"))
		if r := c.post(text("x")); r.Error.Code != whatsapp.CodePair {
			t.Errorf("after the one that fits: got %s", r.Raw)
		}
		if st := c.server.Stats(); st.Violations.ByKind[whatsapp.OverLimit] != 3 || st.Messages != 47 || st.ByCode[whatsapp.CodePair] != 3 {
			t.Errorf("stats: got %+v", st)
		}
	})
}

// TestPairWindow checks that the client must send all messages of a burst within PairWindow. After the burst, the
// client must wait PairInterval for each message of the burst.
func TestPairWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, whatsapp.Options{Limits: whatsapp.Limits{PairWindow: 6 * time.Second}})
		c.say(whatsapp.Incoming{Text: "hi"})
		fits := func() bool { return c.post(text("x")).Status == http.StatusOK }
		for range 19 {
			c.ok(text("x"))
		}
		pause(5 * time.Second)
		c.ok(text("x"))
		pause(time.Second)
		if fits() {
			t.Error("after the burst: it fits")
		}
		pause(2*time.Minute - 7*time.Second)
		if fits() {
			t.Error("after 119 s: it fits")
		}
		pause(time.Second)
		for n := range 46 {
			if got := fits(); got != (n < 45) {
				t.Errorf("message %d of the next burst: fits %v", n+1, got)
			}
		}
		pause(45 * 6 * time.Second)
		for range 3 {
			if !fits() {
				t.Error("one message every 6 seconds: does not fit")
			}
			pause(6 * time.Second)
		}
	})
}

// TestThroughput checks the limit of 80 messages per second for all people together. Messages that people send must
// count against the limit of 80 messages per second, too.
func TestThroughput(t *testing.T) {
	for _, coexistence := range []bool{false, true} {
		t.Run(strconv.FormatBool(coexistence), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t, whatsapp.Options{Coexistence: coexistence})
				most := 80
				if coexistence {
					most = 20
				}
				post := func(n int) reply { return c.post(strings.Replace(text("x"), phone, strconv.Itoa(15550001000+n), 1)) }
				for n := range most {
					c.say(whatsapp.Incoming{User: strconv.Itoa(15550001000 + n), Text: "hi"})
				}
				if r := post(0); r.Error.Code != whatsapp.CodeThroughput {
					t.Errorf("after what people wrote: got %s", r.Raw)
				}
				pause(time.Second)
				for n := range most {
					if r := post(n); r.Status != http.StatusOK {
						t.Fatalf("message %d: got %s", n+1, r.Raw)
					}
				}
				if r := post(0); r.Status != http.StatusBadRequest || r.Error.Code != whatsapp.CodeThroughput {
					t.Errorf("message %d: got %d %s", most+1, r.Status, r.Raw)
				}
				c.say(whatsapp.Incoming{Text: "people are never refused"})
				pause(time.Second)
				if r := post(0); r.Status != http.StatusOK {
					t.Errorf("a second later: got %s", r.Raw)
				}
			})
		})
	}
}

func TestOtherLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, whatsapp.Options{Limits: whatsapp.Limits{AccountPerHour: 2}, Hidden: whatsapp.Limits{PairInterval: time.Minute, PairBurst: 1}})
		c.say(whatsapp.Incoming{Text: "hi"})
		for range 2 {
			if r := c.get(base); r.Status != http.StatusOK {
				t.Errorf("number: got %s", r.Raw)
			}
		}
		if r := c.get(base); r.Error.Code != whatsapp.CodeAccountCalls {
			t.Errorf("number: got %s", r.Raw)
		}
		c.ok(text("x"))
		if r := c.post(text("x")); r.Error.Code != whatsapp.CodePair {
			t.Errorf("hidden: got %s", r.Raw)
		}
		if st := c.server.Stats(); st.Violations.ByKind[whatsapp.OverLimit] != 1 {
			t.Errorf("violations: got %+v", st.Violations)
		}
		c.server.SetLimits(whatsapp.NoLimits(), whatsapp.Limits{})
		for range 50 {
			c.ok(text("x"))
		}
	})
}

// Faults block calls for a time. The test checks the errors of blocked calls, which do not say how long the client must
// wait.
func TestForcedLimits(t *testing.T) {
	for code, others := range map[int]bool{0: false, whatsapp.CodePair: true, whatsapp.CodeAccountCalls: true} {
		synctest.Test(t, func(t *testing.T) {
			c := free(t)
			for _, who := range []string{phone, "15550001002"} {
				c.say(whatsapp.Incoming{User: who, Text: "hi"})
			}
			method := "sendMessage"
			first := func() reply { return c.post(text("x")) }
			if code == whatsapp.CodeAccountCalls {
				method, first = "getPhoneNumber", func() reply { return c.get(base) }
			}
			c.server.Fault(whatsapp.Fault{Method: method, Nth: 1, Action: fault.RateLimit, Code: code, RetryAfter: 5})
			want := code
			if want == 0 {
				want = whatsapp.CodeThroughput
			}
			for range 2 {
				if r := first(); r.Status != http.StatusBadRequest || r.Error.Code != want || r.Header.Get("Retry-After") != "" {
					t.Errorf("%d: got %d %s", code, r.Status, r.Raw)
				}
			}
			if r := c.post(strings.Replace(text("x"), phone, "15550001002", 1)); (r.Status == http.StatusOK) != others {
				t.Errorf("%d, another person: got %s", code, r.Raw)
			}
			pause(5 * time.Second)
			if r := first(); r.Status != http.StatusOK {
				t.Errorf("%d, afterwards: got %s", code, r.Raw)
			}
			if st := c.server.Stats(); st.Forced != 1 || st.Violations.Total() != 0 {
				t.Errorf("%d: got %+v", code, st)
			}
		})
	}
}
