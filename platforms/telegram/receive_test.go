package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"telex/internal/chat"
)

const me = `{"ok":true,"result":{"id":4242,"is_bot":true,"first_name":"Telex","username":"telex_bot","can_read_all_group_messages":false}}`

// said returns an update in which a person writes a text in a private chat.
func said(id int, text string) string {
	return fmt.Sprintf(`{"update_id":%d,"message":{%s,%s,"text":%q}}`, id, inPrivate, ann, text)
}

// feed returns a bot and the offsets of its polls. The first polls get the given responses; later polls hang.
func feed(t *testing.T, polls ...string) (*Bot, chan string) {
	t.Helper()
	offsets := make(chan string, len(polls)+1)
	next := make(chan string, len(polls))
	for _, p := range polls {
		next <- p
	}
	var waiting atomic.Bool // the next poll must return at once, with only the updates from before Run
	waiting.Store(true)
	return serve(t, func(w http.ResponseWriter, r *http.Request, method string) {
		if method == "getMe" {
			_, _ = io.WriteString(w, me)
			return
		}
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		if got, want := r.PostForm.Get("allowed_updates"), `["message","edited_message","callback_query","stopped_message_generation","my_chat_member"]`; got != want {
			t.Errorf("allowed_updates = %s, want %s", got, want)
		}
		want := "30"
		if waiting.Load() {
			want = "" // the bot must not ask Telegram to wait for new updates
		}
		if got := r.PostForm.Get("timeout"); got != want {
			t.Errorf("timeout = %q, want %q", got, want)
		}
		offsets <- r.PostForm.Get("offset")
		select {
		case p := <-next:
			waiting.Store(waiting.Load() && strings.Count(p, "update_id") >= 100)
			_, _ = io.WriteString(w, p)
		default:
			<-r.Context().Done()
		}
	}), offsets
}

// list returns the response to a poll, which contains the given updates.
func list(updates ...string) string {
	return `{"ok":true,"result":[` + strings.Join(updates, ",") + `]}`
}

// The offset of the polls must advance only past accepted updates. If an update can't be decoded, the bot must still
// receive the next update (F43).
func TestRunAcceptsInOrder(t *testing.T) {
	t.Parallel()
	b, offsets := feed(t,
		list(said(10, "one"), `{"update_id":11,"message":{"message_id":"bad"}}`, `{"update_id":12,"edited_message":{}}`, said(13, "two")),
		list(`"garbage"`, said(15, "three"), `{"nothing":0}`),
		list(),
		list(said(3, "after a quiet week")),
	)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	err := b.Run(ctx, chat.Resume{Cursor: "8"}, func(_ context.Context, in chat.Inbound) error {
		got = append(got, in.Resume+" "+in.Text)
		if in.Text == "after a quiet week" {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, want %v", err, context.Canceled)
	}
	if want := []string{"11 one", "14 two", "16 three", "4 after a quiet week"}; !slices.Equal(got, want) {
		t.Errorf("accepted %q, want %q", got, want)
	}
	for _, want := range []string{"8", "14", "17", "17"} {
		if got := <-offsets; got != want {
			t.Errorf("polled from %s, want %s", got, want)
		}
	}
}

// The bot must mark updates as missed if they waited at Telegram when Run began, even if one poll can't return all
// waiting updates. The bot must not mark updates as missed that arrived after Run began, even if a clock is wrong.
func TestRunMarksWaitingUpdates(t *testing.T) {
	t.Parallel()
	var waiting []string
	for i := range 100 {
		waiting = append(waiting, said(i+1, "missed"))
	}
	b, _ := feed(t, list(waiting...), list(said(101, "missed")), list(said(102, "live")), list(said(103, "live"), said(104, "last")))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	err := b.Run(ctx, chat.Resume{}, func(_ context.Context, in chat.Inbound) error {
		n++
		if want := in.Text == "missed"; in.Missed != want {
			t.Errorf("message %d, %q: missed is %t", n, in.Text, in.Missed)
		}
		if in.Text == "last" {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || n != 104 {
		t.Errorf("Run = %v after %d messages, want %v after 104", err, n, context.Canceled)
	}
}

// If the function accept can't store an update, the bot must not confirm the update, so that Telegram delivers the
// update again (F43).
func TestRunStopsWhenAcceptFails(t *testing.T) {
	t.Parallel()
	b, offsets := feed(t, list(said(10, "one"), said(11, "two"), said(12, "three")))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	full := errors.New("disk full")
	var last string
	err := b.Run(ctx, chat.Resume{}, func(_ context.Context, in chat.Inbound) error {
		if in.Text == "two" {
			return full
		}
		last = in.Resume
		return nil
	})
	if !errors.Is(err, full) || last != "11" {
		t.Errorf("Run = %v after cursor %s, want %v after 11", err, last, full)
	}
	if got := <-offsets; got != "" {
		t.Errorf("polled from %q, want the oldest update (F44)", got)
	}
	if n := len(offsets); n != 0 {
		t.Errorf("%d more polls, want none", n)
	}
}

func TestRunReportsContextFirst(t *testing.T) {
	t.Parallel()
	b, _ := feed(t, list(said(10, "one")))
	ctx, cancel := context.WithCancel(t.Context())
	err := b.Run(ctx, chat.Resume{Cursor: "not a number"}, func(ctx context.Context, _ chat.Inbound) error {
		cancel()
		return fmt.Errorf("store: %w", ctx.Err())
	})
	if err != context.Canceled { //nolint:errorlint // exactly the context's.
		t.Errorf("Run = %v, want %v", err, context.Canceled)
	}
}

func TestRunEndsPromptly(t *testing.T) {
	t.Parallel()
	b, offsets := feed(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- b.Run(ctx, chat.Resume{}, refuse(t)) }()
	<-offsets
	start := time.Now()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, want %v", err, context.Canceled)
	}
	if took := time.Since(start); took > 20*time.Second { // an empty poll would take longer
		t.Errorf("Run took %v to end", took)
	}
}

// If one message of an album mentions the bot, the bot must accept all messages of the album, even messages that a
// later poll returns. If no message of an album mentions the bot, the bot must ignore the album.
func TestAlbumIsForTheBotAsAWhole(t *testing.T) {
	t.Parallel()
	photo := func(id int, album, more string) string {
		return fmt.Sprintf(`{"update_id":%d,"message":{%s,%s,"media_group_id":%q,"photo":[{"file_id":"f%d"}]%s}}`, id, inGroup, ann, album, id, more)
	}
	const mention = `,"caption":"@telex_bot look","caption_entities":[{"type":"mention","offset":0,"length":10}]`
	b, _ := feed(t,
		list(photo(10, "A", ""), photo(11, "A", mention), photo(12, "B", ""), `{"update_id":13,"message":{`+inGroup+`,`+ann+`,"text":"all: look"}}`, photo(14, "A", "")),
		list(photo(15, "B", ""), photo(16, "A", ""), photo(17, "C", mention)),
		list(photo(18, "A", ""), photo(19, "C", "")),
	)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	err := b.Run(ctx, chat.Resume{}, func(_ context.Context, in chat.Inbound) error {
		if in.Addressed {
			got = append(got, in.Resume)
		}
		if in.Resume == "20" {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, want %v", err, context.Canceled)
	}
	if want := []string{"11", "12", "15", "17", "18", "20"}; !slices.Equal(got, want) {
		t.Errorf("for the bot are those before %q, want %q", got, want)
	}
}

// If another program polls, Run must return a different error than if a webhook is set. Each error must tell the
// operator what to do (F55).
func TestRunFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status     int
		me, poll   string
		want       chat.ErrorKind
		wantInText string
	}{
		{409, "", refusal(409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running", ""), chat.Conflict, "another process polls"},
		{409, "", refusal(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first", ""), chat.Conflict, "has a webhook"},
		{401, refusal(401, "Unauthorized", ""), "", chat.Auth, "Unauthorized"},
		{404, refusal(404, "Not Found", ""), "", chat.Temporary, "api_base does not lead to a Bot API server"},
		{404, refusal(404, "Not Found", ""), "", chat.Temporary, "or the token is mistyped"},
		{404, "<html>nginx</html>", "", chat.Temporary, "api_base does not lead to a Bot API server"},
		{404, "", refusal(404, "Not Found", ""), chat.Temporary, "api_base"},
		{401, "", refusal(401, "Unauthorized", ""), chat.Temporary, "Unauthorized"}, // the next getMe shows whether the token is wrong
		{502, "<html>", "", chat.Temporary, "HTTP 502"},
		{200, `{"ok":true,"result":{}}`, "", chat.Temporary, "names no bot"},
		{500, "", refusal(500, "Internal Server Error", ""), chat.Temporary, "Internal"},
		{200, "", `{"ok":true,"result":{"update_id":1}}`, chat.Temporary, "not a list"},
		{200, "", list(`{}`, `"x"`), chat.Temporary, "no update has an id"},
	} {
		b := serve(t, func(w http.ResponseWriter, _ *http.Request, method string) {
			switch {
			case method == "getMe" && c.me == "":
				_, _ = io.WriteString(w, me)
			case method == "getMe":
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.me)
			default:
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.poll)
			}
		})
		err := b.Run(t.Context(), chat.Resume{}, refuse(t))
		if failure := wantKind(t, err, c.want); !strings.Contains(failure.Error(), c.wantInText) {
			t.Errorf("Run = %q, want %q in it", failure, c.wantInText)
		}
	}
}

// If the connection breaks during a poll, Run must return a Temporary error, because the bot may safely repeat all
// calls that Run makes.
func TestRunCutIsTemporary(t *testing.T) {
	t.Parallel()
	b := serve(t, func(w http.ResponseWriter, _ *http.Request, method string) {
		if method == "getMe" {
			_, _ = io.WriteString(w, me)
			return
		}
		panic(http.ErrAbortHandler)
	})
	wantKind(t, b.Run(t.Context(), chat.Resume{Cursor: strconv.Itoa(5)}, refuse(t)), chat.Temporary)
}

// The first call of Run must log that the bot receives messages. If the gateway calls Run again after a failure, Run
// must not log again that the bot receives messages.
func TestRunSaysOnceThatItReceives(t *testing.T) {
	t.Parallel()
	b := serve(t, func(w http.ResponseWriter, _ *http.Request, method string) {
		if method == "getMe" {
			_, _ = io.WriteString(w, me)
			return
		}
		w.WriteHeader(http.StatusBadGateway)
	})
	var log bytes.Buffer
	b.log = slog.New(slog.NewTextHandler(&log, nil))
	for range 3 {
		wantKind(t, b.Run(t.Context(), chat.Resume{}, refuse(t)), chat.Temporary)
	}
	if n := strings.Count(log.String(), "msg=receiving"); n != 1 {
		t.Errorf("the log says %d times that it receives, want once:\n%s", n, log.String())
	}
}
