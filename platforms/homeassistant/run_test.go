package homeassistant_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
	"telex/platforms/homeassistant"
)

var watchAll = homeassistant.Options{Watch: homeassistant.Watch{All: true, Cooldown: 30 * time.Second}}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, name string, run func(*testing.T, *house)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { run(t, newHouse(t)) })
	})
}

func TestRun(t *testing.T) {
	t.Parallel()
	inBubble(t, "a change is told as a message that nobody typed", func(t *testing.T, h *house) {
		r := start(t, h.bot(watchAll))
		h.say(changed(door, "off", "on", "Front door"))
		wait(2 * time.Second)
		if len(r.accepted) != 1 {
			t.Fatalf("accepted %+v, want one message", r.accepted)
		}
		in := r.accepted[0]
		if in.Text != "Home Assistant reports: Front door (binary_sensor.door) is now open (before: closed)." ||
			in.Origin != chat.Reported || !in.Unattended || !in.Addressed || in.Sender.ID != homeassistant.User || in.Sender.Bot ||
			in.To != (chat.Target{Chat: homeassistant.Chat}) || in.ID == "" || in.Resume != "" || time.Since(in.At) > 2*time.Second {
			t.Errorf("accepted %+v", in)
		}
		h.change(door, "on", "on")
		if got := r.texts(time.Minute); len(got) != 1 {
			t.Errorf("accepted %q, want nothing more", got)
		}
	})
	inBubble(t, "nothing is subscribed to, if nothing is watched", func(t *testing.T, h *house) {
		start(t, h.bot(homeassistant.Options{}))
		if n := h.count("subscribe_events state_changed"); n != 0 {
			t.Errorf("%d subscriptions, want none", n)
		}
	})
	inBubble(t, "one message at a time, with the newest state", func(t *testing.T, h *house) {
		o := watchAll
		o.Pause, o.Watch.Cooldown = 6*time.Second, 0
		r := start(t, h.bot(o))
		h.change(door, "off", "on")
		h.change("light.a", "off", "on")
		wait(2 * time.Second)
		if len(r.accepted) != 1 || strings.Count(r.accepted[0].Text, "\n- ") != 2 {
			t.Fatalf("accepted %+v, want one message about both", r.accepted)
		}
		first := r.accepted[0].ID
		for i := range 5000 { // simulate a flood of changes, which must cause only one message
			h.change("sensor.a", fmt.Sprint(i), fmt.Sprint(i+1))
		}
		r.texts(0)
		if got := r.texts(10 * time.Minute); len(got) != 0 {
			t.Errorf("accepted %q before the first was answered", got)
		}
		r.answer(first)
		if got := r.texts(5 * time.Second); len(got) != 0 {
			t.Errorf("accepted %q in the pause", got)
		}
		if got := r.texts(2 * time.Second); len(got) != 1 || !strings.HasSuffix(got[0], "changed from 0 to 5000.") {
			t.Errorf("accepted %q, want one about the newest state", got)
		}
	})
	inBubble(t, "what was not accepted is handed on again", func(t *testing.T, h *house) {
		b := h.bot(watchAll)
		r := start(t, b)
		full := errors.New("disk full")
		r.mu.Lock()
		r.refuse = full
		r.mu.Unlock()
		h.change(door, "off", "on")
		if err := <-r.done; !errors.Is(err, full) {
			t.Errorf("Run = %v, want %v", err, full)
		}
		first := r.accepted[0]
		r = start(t, b)
		if len(r.accepted) != 1 || r.accepted[0].ID != first.ID || r.accepted[0].Text != first.Text {
			t.Errorf("accepted %+v, want %+v again", r.accepted, first)
		}
	})
	inBubble(t, "what can't be read does not hold up the next", func(t *testing.T, h *house) {
		r := start(t, h.bot(watchAll))
		for _, text := range []string{
			"", "[", "[1]", "{}", `{"type":"event","event":7}`, `{"type":"event","event":{"event_type":"state_changed","data":{"new_state":{"entity_id":{}}}}}`,
			`{"id":3,"type":"result","success":false,"error":{"code":"x","message":"` + token + `"}}`,
			`{"type":"event","event":{"event_type":"state_changed","data":{"old_state":null,"new_state":{"entity_id":"light.new","state":"on"}}}}`,
			strings.Repeat(" ", 3<<20) + changed("light.large", "off", "on", ""),
		} {
			h.say(text)
		}
		h.change(door, "off", "on")
		if got := r.texts(2 * time.Second); len(got) != 1 || !strings.Contains(got[0], door) || strings.Contains(got[0], "light") {
			t.Errorf("accepted %q, want the door alone", got)
		}
	})
	inBubble(t, "a run ends with its context", func(t *testing.T, h *house) {
		r := start(t, h.bot(watchAll))
		began := time.Now()
		r.cancel()
		if err := <-r.done; !errors.Is(err, context.Canceled) || time.Since(began) > 100*time.Millisecond {
			t.Errorf("Run = %v after %v", err, time.Since(began))
		}
	})
}

func TestConnection(t *testing.T) {
	t.Parallel()
	inBubble(t, "a refused token is told as such, without it", func(t *testing.T, h *house) {
		h.refuse = true
		r := start(t, h.bot(watchAll))
		err := <-r.done
		if chat.AsSendError(err).Kind != chat.Auth || strings.Contains(err.Error(), token) {
			t.Errorf("Run = %v, want Auth", err)
		}
	})
	inBubble(t, "a socket that is stuck is given up, and the next one works", func(t *testing.T, h *house) {
		b := h.bot(watchAll)
		r := start(t, b)
		wait(5 * time.Minute)
		began := time.Now()
		h.set(true)
		if err := <-r.done; chat.AsSendError(err).Kind != chat.Temporary || !strings.Contains(err.Error(), "stuck") || time.Since(began) > time.Minute {
			t.Errorf("Run = %v after %v", err, time.Since(began))
		}
		h.set(false)
		r = start(t, b)
		h.change(door, "off", "on")
		if got := r.texts(2 * time.Second); len(got) != 1 {
			t.Errorf("accepted %q", got)
		}
	})
	inBubble(t, "a server that says nothing is given up", func(t *testing.T, h *house) {
		h.stuck = true
		began := time.Now()
		r := start(t, h.bot(watchAll))
		if err := <-r.done; chat.AsSendError(err).Kind != chat.Temporary || time.Since(began) > time.Minute {
			t.Errorf("Run = %v after %v", err, time.Since(began))
		}
	})
	inBubble(t, "a subscription that brings nothing is renewed, and the old one ends", func(t *testing.T, h *house) {
		r := start(t, h.bot(watchAll))
		for range 10 {
			wait(time.Minute)
			h.change("sensor.a", "1", "2")
		}
		if n := h.count("subscribe_events state_changed"); n != 1 {
			t.Errorf("%d subscriptions while events come, want 1", n)
		}
		wait(time.Hour)
		if n := h.count("subscribe_events state_changed"); n < 10 || n > 13 {
			t.Errorf("%d subscriptions in an hour of silence, want one in five minutes", n)
		}
		h.mu.Lock()
		if len(h.subs) != 1 {
			t.Errorf("%d subscriptions exist, want 1", len(h.subs))
		}
		h.mu.Unlock()
		h.change(door, "off", "on")
		if got := r.texts(2 * time.Second); len(got) == 0 {
			t.Error("nothing is told after it")
		}
	})
	inBubble(t, "a connection that is closed is a failure that passes", func(t *testing.T, h *house) {
		r := start(t, h.bot(watchAll))
		_ = h.sockets[0].CloseNow()
		if err := <-r.done; chat.AsSendError(err).Kind != chat.Temporary {
			t.Errorf("Run = %v", err)
		}
	})
	inBubble(t, "its loop shows that it goes on", func(t *testing.T, h *house) {
		b := h.bot(watchAll)
		start(t, b)
		for range 100 {
			wait(47 * time.Second)
			if last, limit := b.Pulse(); time.Since(last) > min(limit, 20*time.Second) {
				t.Fatalf("the last beat was %v ago", time.Since(last))
			}
		}
	})
}

func TestSend(t *testing.T) {
	t.Parallel()
	to := chat.Target{Chat: homeassistant.Chat}
	m := chat.Outgoing{Text: "It is open.", Key: "turn-0"}
	inBubble(t, "the same create has the same id, another one another", func(t *testing.T, h *house) {
		b := h.bot(homeassistant.Options{})
		for _, key := range []string{"turn-0", "turn-0", "turn-1"} {
			if _, err := b.Send(t.Context(), to, chat.Outgoing{Text: m.Text, Key: key}); err != nil {
				t.Fatal(err)
			}
		}
		if h.posted[0] != h.posted[1] || h.posted[0] == h.posted[2] ||
			!strings.HasPrefix(h.posted[0], `POST /api/services/persistent_notification/create {"message":"It is open.","notification_id":"telex_`) {
			t.Errorf("posted %q", h.posted)
		}
	})
	for name, exists := range map[string]bool{"an action of notify": false, "an entity of notify": true} {
		inBubble(t, name, func(t *testing.T, h *house) {
			h.answer = func(path string) (int, string) {
				if strings.HasPrefix(path, "/api/states/") && !exists {
					return 404, `{"message":"Entity not found."}`
				}
				return 200, "[]"
			}
			b := h.bot(homeassistant.Options{Notify: "notify.phone"})
			want := []string{"GET /api/states/notify.phone ", `POST /api/services/notify/phone {"message":"It is open.","title":"telex"}`}
			if exists {
				want[1] = `POST /api/services/notify/send_message {"entity_id":"notify.phone","message":"It is open.","title":"telex"}`
			}
			if receipt, err := b.Send(t.Context(), to, m); err != nil || receipt.Ref.ID == "" || !slices.Equal(h.posted, want) {
				t.Errorf("Send = %+v, %v, posted %q, want %q", receipt, err, h.posted, want)
			}
		})
	}
	for status, want := range map[int]chat.ErrorKind{
		400: chat.Rejected, 401: chat.Auth, 403: chat.Forbidden, 404: chat.Temporary, 413: chat.TooLong, 429: chat.RateLimited, 500: chat.Uncertain, 502: chat.Uncertain,
	} {
		inBubble(t, fmt.Sprint("HTTP status ", status), func(t *testing.T, h *house) {
			h.answer = func(string) (int, string) { return status, `{"message":"no, ` + token + `"}` }
			_, err := h.bot(homeassistant.Options{}).Send(t.Context(), to, m)
			if chat.AsSendError(err).Kind != want || strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), fmt.Sprint(status)) {
				t.Errorf("Send = %v, want %v", err, want)
			}
		})
	}
	inBubble(t, "nothing happened if the lookup before failed", func(t *testing.T, h *house) {
		h.answer = func(string) (int, string) { return 502, "<html>" }
		_, err := h.bot(homeassistant.Options{Notify: "notify.phone"}).Send(t.Context(), to, m)
		if chat.AsSendError(err).Kind != chat.Temporary || len(h.posted) != 1 {
			t.Errorf("Send = %v, posted %q", err, h.posted)
		}
	})
}
