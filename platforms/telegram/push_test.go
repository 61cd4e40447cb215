package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/standin/fault"
	standin "telex/standin/telegram"
)

// hooked runs a test in a world whose bot receives updates by a webhook.
func hooked(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	inBubble(t, func(t *testing.T, _ *world, _ conformance.Adapter) {
		test(t, newHookedWorld(t))
		time.Sleep(time.Second) // after a refusal, the server keeps the connection open for a while
	})
}

// The method runs makes a bot receive messages until the returned function stop is called. The function stop returns
// the received messages and the error of Run.
func (w *world) runs(t *testing.T, log io.Writer, accept func(chat.Inbound) error) (stop func() ([]chat.Inbound, error)) {
	t.Helper()
	return w.runsFrom(t, chat.Resume{}, log, accept)
}

func (w *world) runsFrom(t *testing.T, from chat.Resume, log io.Writer, accept func(chat.Inbound) error) (stop func() ([]chat.Inbound, error)) {
	t.Helper()
	bot := w.Connect(slog.New(slog.NewTextHandler(log, nil)), conformance.Proper)
	ctx, cancel := context.WithCancel(t.Context())
	var list []chat.Inbound
	done := make(chan error, 1)
	go func() {
		done <- bot.Run(ctx, from, func(_ context.Context, in chat.Inbound) error {
			if err := accept(in); err != nil {
				return err
			}
			list = append(list, in)
			return nil
		})
	}()
	return func() ([]chat.Inbound, error) {
		cancel()
		return list, <-done
	}
}

func anything(chat.Inbound) error { return nil }

func textsOf(list []chat.Inbound) (texts []string) {
	for _, in := range list {
		texts = append(texts, in.Text)
	}
	return texts
}

// request sends a request to the address of the webhook, as any program on the internet could.
func (w *world) request(t *testing.T, method, secret, body string) int {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: w.hook.dial}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://telex.test/any/path", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// datedBack is a transport that changes the Date header of all responses to an earlier time.
type datedBack struct {
	garbling
	behind time.Duration
}

func (d datedBack) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.garbling.RoundTrip(r)
	if err == nil {
		resp.Header.Set("Date", time.Now().Add(-d.behind).UTC().Format(http.TimeFormat))
	}
	return resp, err
}

// In this test, the clock of this machine is ahead of Telegram's clock. Even if this machine's clock is ahead, the bot
// must not mark a new message as missed.
func TestLiveUpdatesWhileTheClockIsAhead(t *testing.T) {
	hooked(t, func(t *testing.T, w *world) {
		w.behind = time.Hour
		stop := w.runs(t, io.Discard, anything)
		time.Sleep(time.Minute)
		for n, age := range []time.Duration{0, 2 * time.Minute} {
			at := time.Now().Add(-w.behind - age).Unix()
			w.request(t, http.MethodPost, hookSecret, fmt.Sprintf(
				`{"update_id":%d,"message":{"message_id":%d,"date":%d,"chat":{"id":1001,"type":"private"},"from":{"id":1001},"text":"hello"}}`, 900+n, 900+n, at))
		}
		if list, _ := stop(); len(list) != 2 || list[0].Missed || !list[1].Missed {
			t.Errorf("accepted %+v, want a new message and a missed one", list)
		}
	})
}

// The bot must set the webhook when Run begins, and delete the webhook when Run ends. No update may be lost that waits
// for delivery or that arrives while no bot runs.
func TestWebhookIsSetAndDeleted(t *testing.T) {
	hooked(t, func(t *testing.T, w *world) {
		w.Say(w.Private(), conformance.Saying{Text: "before"})
		time.Sleep(time.Second)
		stop := w.runs(t, io.Discard, anything)
		time.Sleep(time.Second)
		w.Say(w.Private(), conformance.Saying{Text: "during"})
		time.Sleep(time.Second)
		list, err := stop()
		if !errors.Is(err, context.Canceled) || !slices.Equal(textsOf(list), []string{"before", "during"}) || !list[0].Missed || list[1].Missed {
			t.Errorf("Run = %v, accepted %+v", err, list)
		}
		w.Say(w.Private(), conformance.Saying{Text: "between"})
		stop = w.runs(t, io.Discard, anything)
		time.Sleep(time.Second)
		if list, _ := stop(); !slices.Equal(textsOf(list), []string{"between"}) || list[0].Resume != "0" {
			t.Errorf("accepted %+v", list)
		}
		calls := w.calls("setWebhook", "deleteWebhook", "getUpdates")
		if len(calls) != 4 || calls[0].Method != "setWebhook" || calls[1].Method != "deleteWebhook" {
			t.Fatalf("calls are %+v", calls)
		}
		want := map[string]string{
			"url": hookURL, "secret_token": hookSecret, "max_connections": "10", "drop_pending_updates": "false",
			"allowed_updates": `["message","edited_message","callback_query","stopped_message_generation","my_chat_member"]`,
		}
		for name, value := range want {
			if calls[0].Params[name] != value {
				t.Errorf("%s is %q, want %q", name, calls[0].Params[name], value)
			}
		}
		if calls[1].Params["drop_pending_updates"] == "true" {
			t.Error("the updates that wait are dropped")
		}
	})
}

// In this test, several processes receive updates by the same webhook. Only the process that stops last may delete the
// webhook.
func TestWebhookOfSeveralProcesses(t *testing.T) {
	hooked(t, func(t *testing.T, w *world) {
		running := 2
		from := chat.Resume{Fellows: func() (all, older int) { return running - 1, 0 }}
		stopOne := w.runsFrom(t, from, io.Discard, anything)
		time.Sleep(time.Second)
		stopOther := w.runsFrom(t, from, io.Discard, anything) // from now on, this process gets Telegram's requests
		time.Sleep(time.Second)
		if _, err := stopOne(); !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
		running = 1
		w.Say(w.Private(), conformance.Saying{Text: "hello"})
		time.Sleep(time.Second)
		if calls := w.calls("deleteWebhook"); len(calls) != 0 {
			t.Error("the webhook of the other process is deleted")
		}
		if list, err := stopOther(); !errors.Is(err, context.Canceled) || !slices.Equal(textsOf(list), []string{"hello"}) {
			t.Errorf("Run = %v, accepted %+v", err, list)
		}
		if calls := w.calls("deleteWebhook"); len(calls) != 1 {
			t.Errorf("the last process deletes the webhook %d times", len(calls))
		}
	})
}

const anUpdate = `{"update_id":900,"message":{"message_id":77,"date":946684800,"chat":{"id":1001,"type":"private"},"from":{"id":1001,"first_name":"A"},"text":"%s"}}`

// The bot must refuse a request that is not from Telegram. If Telegram repeats an update, the bot must accept the
// update only once.
func TestForgedAndReplayedUpdates(t *testing.T) {
	hooked(t, func(t *testing.T, w *world) {
		var log conformance.Log
		stop := w.runs(t, &log, anything)
		time.Sleep(time.Second)
		real := fmt.Sprintf(anUpdate, "real")
		for _, c := range []struct {
			name, method, secret, body string
			want                       int
		}{
			{"no secret", "POST", "", real, 401},
			{"a wrong secret", "POST", hookSecret + "x", real, 401},
			{"the bot's token", "POST", w.server.Token(), real, 401},
			{"another verb", "GET", hookSecret, "", 405},
			{"no JSON", "POST", hookSecret, "{", 400},
			{"no update", "POST", hookSecret, `{"ok":true}`, 400},
			{"too long", "POST", hookSecret, strings.Repeat(" ", 2<<20), 413},
			{"an unknown kind", "POST", hookSecret, `{"update_id":899,"poll":{}}`, 200},
			{"a broken message", "POST", hookSecret, `{"update_id":898,"message":{"message_id":{}}}`, 200},
			{"the real one", "POST", hookSecret, real, 200},
			{"the same again", "POST", hookSecret, real, 200},
			{"and again", "POST", hookSecret, fmt.Sprintf(anUpdate, "forged"), 200},
		} {
			if got := w.request(t, c.method, c.secret, c.body); got != c.want {
				t.Errorf("%s: got %d, want %d", c.name, got, c.want)
			}
		}
		list, _ := stop()
		if !slices.Equal(textsOf(list), []string{"real"}) {
			t.Errorf("accepted %+v", list)
		}
		if s := log.String(); strings.Contains(s, hookSecret) || strings.Contains(s, w.server.Token()) || !strings.Contains(s, "request refused") {
			t.Errorf("the log says %s", s)
		}
	})
}

// If the function accept can't store an update, the bot must refuse the update, so that Telegram delivers the update
// again, before later messages (F43, F44).
func TestWebhookRedelivery(t *testing.T) {
	hooked(t, func(t *testing.T, w *world) {
		full := errors.New("disk full")
		stop := w.runs(t, io.Discard, func(in chat.Inbound) error {
			if in.Text == "two" {
				return full
			}
			return nil
		})
		time.Sleep(time.Second)
		for _, text := range []string{"one", "two", "three"} {
			w.Say(w.Private(), conformance.Saying{Text: text})
		}
		time.Sleep(time.Minute)
		if list, err := stop(); !errors.Is(err, full) || !slices.Equal(textsOf(list), []string{"one"}) {
			t.Errorf("Run = %v, accepted %+v", err, list)
		}
		if calls := w.calls("deleteWebhook"); len(calls) != 0 {
			t.Error("the webhook is deleted")
		}
		w.server.Fault(standin.Fault{Method: "webhook", Nth: 1, Times: 1, Action: fault.CutAfter}) // simulate a lost response
		stop = w.runs(t, io.Discard, anything)
		time.Sleep(5 * time.Minute)
		if list, _ := stop(); !slices.Equal(textsOf(list), []string{"two", "three"}) {
			t.Errorf("accepted %+v", list)
		}
		if st := w.server.Stats(); st.Pending != 0 {
			t.Errorf("%d updates wait", st.Pending)
		}
	})
}

// If another program changes the webhook, Run must end, and the next Run must set the webhook again. The log must say
// why Telegram can't reach the webhook.
func TestWebhookIsWatched(t *testing.T) {
	hooked(t, func(t *testing.T, w *world) {
		var log conformance.Log
		stop := w.runs(t, &log, anything)
		time.Sleep(time.Second)
		w.server.Fault(standin.Fault{Method: "webhook", Nth: 1, Times: 1, Action: fault.CutAfter})
		w.Say(w.Private(), conformance.Saying{Text: "hello"})
		time.Sleep(3 * time.Minute)
		if s := log.String(); strings.Count(s, "Telegram could not deliver") != 1 || !strings.Contains(s, "Webhook connection closed") {
			t.Errorf("the log says %s", s)
		}
		w.setWebhook(t, "https://other.example.org/x")
		time.Sleep(2 * time.Minute)
		if list, err := stop(); kindOf(err) != chat.Conflict || !strings.Contains(err.Error(), "another program") || len(list) != 1 {
			t.Errorf("Run = %v, accepted %+v", err, list)
		}
		stop = w.runs(t, &log, anything)
		w.Say(w.Private(), conformance.Saying{Text: "again"})
		time.Sleep(time.Minute)
		if list, err := stop(); !errors.Is(err, context.Canceled) || !slices.Equal(textsOf(list), []string{"again"}) {
			t.Errorf("Run = %v, accepted %+v", err, list)
		}
	})
}

// If Telegram refuses to set the webhook, the error of Run must contain Telegram's description of the error.
func TestWebhookIsRefused(t *testing.T) {
	hooked(t, func(t *testing.T, w *world) {
		w.server.Fault(standin.Fault{Method: "setWebhook", Times: 1, Action: fault.Status, Status: 400, Description: "Bad Request: bad webhook: Failed to resolve host"})
		stop := w.runs(t, io.Discard, anything)
		time.Sleep(time.Second)
		if _, err := stop(); kindOf(err) != chat.Rejected || !strings.Contains(err.Error(), "Failed to resolve host") {
			t.Errorf("Run = %v", err)
		}
		examined, err := w.Connect(slog.New(slog.DiscardHandler), conformance.Proper).(interface {
			Examine(ctx context.Context) (chat.Examination, error)
		}).Examine(t.Context())
		if err != nil || len(examined.Findings) != 0 {
			t.Errorf("Examine = %+v, %v", examined, err)
		}
	})
}

// In this test, a killed bot could not delete its webhook, and the next process is configured to poll. A process that
// polls must delete the webhook of an earlier process and receive the waiting updates.
func TestFromWebhookToPolling(t *testing.T) {
	hooked(t, func(t *testing.T, w *world) {
		w.setWebhook(t, hookURL)
		w.Say(w.Private(), conformance.Saying{Text: "hello"})
		time.Sleep(time.Minute)
		w.hook = nil
		stop := w.runs(t, io.Discard, anything)
		time.Sleep(time.Second)
		if list, err := stop(); !errors.Is(err, context.Canceled) || !slices.Equal(textsOf(list), []string{"hello"}) {
			t.Errorf("Run = %v, accepted %+v", err, list)
		}
	})
}
