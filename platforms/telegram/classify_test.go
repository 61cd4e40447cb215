package telegram

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
)

// refusal returns the body of a response to a failed call.
func refusal(code int, description, parameters string) string {
	if parameters != "" {
		parameters = `,"parameters":` + parameters
	}
	return fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q%s}`, code, description, parameters)
}

// For each response in the list, the test checks the kind of the error. The bodies of the responses have the form in
// which Telegram's server writes them (F20, F30, F53, F54, F55).
func TestClassification(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   chat.ErrorKind
	}{
		{400, refusal(400, "Bad Request: message is too long", ""), chat.TooLong},
		{400, refusal(400, "Bad Request: MESSAGE_TOO_LONG", ""), chat.TooLong},
		{400, refusal(400, "Bad Request: text is too long", ""), chat.TooLong},
		{413, refusal(413, "Request Entity Too Large", ""), chat.TooLong},
		{400, refusal(400, "Bad Request: can't parse entities: Can't find end of Bold entity at byte offset 3", ""), chat.Rejected},
		{400, refusal(400, "Bad Request: ENTITY_BOUNDS_INVALID", ""), chat.Rejected},
		{400, refusal(400, "Bad Request: message text is empty", ""), chat.Rejected},
		{400, refusal(400, "Bad Request: strings must be encoded in UTF-8", ""), chat.Rejected},
		{400, refusal(400, "Bad Request: chat not found", ""), chat.Forbidden},
		{400, refusal(400, "Bad Request: PEER_ID_INVALID", ""), chat.Forbidden},
		{400, refusal(400, "Bad Request: not enough rights to send text messages to the chat", ""), chat.Forbidden},
		{400, refusal(400, "Bad Request: CHAT_WRITE_FORBIDDEN", ""), chat.Forbidden},
		{400, refusal(400, "Bad Request: TOPIC_CLOSED", ""), chat.Forbidden},
		{400, refusal(400, "Bad Request: message thread not found", ""), chat.Forbidden},
		{403, refusal(403, "Forbidden: bot was blocked by the user", ""), chat.Forbidden},
		{403, refusal(403, "Forbidden: user is deactivated", ""), chat.Forbidden},
		{403, refusal(403, "Forbidden: bot was kicked from the supergroup chat", ""), chat.Forbidden},
		{401, refusal(401, "Unauthorized", ""), chat.Auth},
		{404, refusal(404, "Not Found", ""), chat.Temporary}, // the API method does not exist, so the call changed nothing
		{404, "<html>nginx</html>", chat.Uncertain},
		{409, refusal(409, "Conflict: terminated by other getUpdates request", ""), chat.Conflict},
		{500, refusal(500, "Internal Server Error", ""), chat.Uncertain},
		{502, "<html><head><title>502 Bad Gateway</title></head></html>", chat.Uncertain},
		{504, "", chat.Uncertain},
		{200, "", chat.Uncertain},
		{200, "null", chat.Uncertain},
		{200, "[]", chat.Uncertain},
		{200, `{"ok":false}`, chat.Uncertain},
		{502, `{"ok":false,"description":"Bad Gateway"}`, chat.Uncertain},
		{418, refusal(418, "I'm a teapot", ""), chat.Rejected},
	} {
		t.Run(fmt.Sprintf("%d %s", c.status, c.body), func(t *testing.T) {
			t.Parallel()
			b := serveAnswer(t, c.status, c.body)
			_, err := b.Send(t.Context(), private, chat.Outgoing{Text: "x"})
			wantKind(t, err, c.want)
			ref := chat.MessageRef{Target: private, ID: "5"}
			_, err = b.Edit(t.Context(), ref, chat.Outgoing{Text: "x"})
			wantKind(t, err, c.want)
			wantKind(t, b.Delete(t.Context(), ref), c.want)
			wantKind(t, b.Typing(t.Context(), private), c.want)
		})
	}
}

func TestLongDescriptionIsCut(t *testing.T) {
	t.Parallel()
	b := serveAnswer(t, 400, refusal(400, strings.Repeat("ä", 1000), ""))
	_, err := b.Send(t.Context(), private, chat.Outgoing{Text: "x"})
	failure := wantKind(t, err, chat.Rejected)
	if n := len(failure.Error()); n > 400 {
		t.Errorf("the error has %d bytes, want at most 400", n)
	}
}

func TestEditsOfMessagesOutOfReach(t *testing.T) {
	t.Parallel()
	ref := chat.MessageRef{Target: group, ID: "5"}
	for description, want := range map[string]chat.ErrorKind{
		"Bad Request: message to edit not found":               chat.Gone,
		"Bad Request: MESSAGE_ID_INVALID":                      chat.Gone,
		"Bad Request: message can't be edited":                 chat.Frozen,
		"Bad Request: MESSAGE_EDIT_TIME_EXPIRED":               chat.Frozen,
		"Bad Request: there is no text in the message to edit": chat.Rejected,
	} {
		b := serveAnswer(t, 400, refusal(400, description, ""))
		_, err := b.Edit(t.Context(), ref, chat.Outgoing{Text: "x"})
		wantKind(t, err, want)
	}
	b := serveAnswer(t, 400, refusal(400, "Bad Request: message can't be deleted for everyone", ""))
	wantKind(t, b.Delete(t.Context(), ref), chat.Frozen)
}

// If a message already has the content of an edit, Edit must succeed, although Telegram refuses the edit (F21).
func TestUnchangedIsSuccess(t *testing.T) {
	t.Parallel()
	ref := chat.MessageRef{Target: group, ID: "5"}
	b := serveAnswer(t, 400, refusal(400, "Bad Request: message is not modified: specified new message content "+
		"and reply markup are exactly the same as a current content and reply markup of the message", ""))
	receipt, err := b.Edit(t.Context(), ref, chat.Outgoing{Text: "x"})
	if want := (chat.Receipt{Ref: ref}); err != nil || receipt.Ref != want.Ref {
		t.Errorf("Edit = %+v, %v, want %+v", receipt, err, want)
	}
	b = serveAnswer(t, 400, refusal(400, "Bad Request: message to delete not found", ""))
	if err := b.Delete(t.Context(), ref); err != nil {
		t.Errorf("Delete: %v", err)
	}
}

// The error of a refused call must contain exactly the wait that Telegram requests, even if the wait is long (F03).
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status       int
		header, body string
		want         time.Duration
	}{
		{429, "", refusal(429, "Too Many Requests: retry after 35", `{"retry_after":35}`), 35 * time.Second},
		{429, "7", refusal(429, "Too Many Requests: retry after 35", `{"retry_after":35}`), 35 * time.Second},
		{429, "7", refusal(429, "Too Many Requests", ""), 7 * time.Second},
		{429, "7", "<html>429</html>", 7 * time.Second},
		{429, "", "", defaultRetryAfter},
		{429, "Wed, 21 Oct 2026 07:28:00 GMT", "", defaultRetryAfter},
		{429, "", refusal(429, "Too Many Requests", `{"retry_after":-3}`), defaultRetryAfter},
		{429, "", refusal(429, "Too Many Requests", `{"retry_after":9223372036854775807}`), defaultRetryAfter},
		{429, "", refusal(429, "Too Many Requests", `{"retry_after":90000}`), 25 * time.Hour},
		{200, "", refusal(429, "Too Many Requests", `{"retry_after":2}`), 2 * time.Second},
	} {
		b := serve(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
			if c.header != "" {
				w.Header().Set("Retry-After", c.header)
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		})
		_, err := b.Send(t.Context(), private, chat.Outgoing{Text: "x"})
		failure := wantKind(t, err, chat.RateLimited)
		if failure.RetryAfter != c.want || failure.Scope != 0 {
			t.Errorf("%q %s: retry after %v in scope %v, want %v in none", c.header, c.body, failure.RetryAfter, failure.Scope, c.want)
		}
		err = b.Run(t.Context(), chat.Resume{}, refuse(t))
		if failure := wantKind(t, err, chat.RateLimited); failure.RetryAfter != c.want {
			t.Errorf("Run: retry after %v, want %v", failure.RetryAfter, c.want)
		}
	}
}

// When a group becomes a supergroup, the chat gets a new id. Telegram's error contains the new id of the chat, and the
// bot's error must contain the new id too (F54).
func TestMoved(t *testing.T) {
	t.Parallel()
	b := serveAnswer(t, 400, refusal(400, "Bad Request: group chat was upgraded to a supergroup chat",
		`{"migrate_to_chat_id":-1002147483648}`))
	_, err := b.Send(t.Context(), chat.Target{Chat: "-5", Kind: chat.Group}, chat.Outgoing{Text: "x"})
	to := chat.Target{Chat: "-5", Kind: chat.Group}
	_, edit := b.Edit(t.Context(), chat.MessageRef{Target: to, ID: "5"}, chat.Outgoing{Text: "x"})
	_, file := b.SendFile(t.Context(), to, chat.Outgoing{Text: "x"}, chat.File{Name: "a", Content: []byte("x")})
	for call, err := range map[string]error{
		"Send": err, "Edit": edit, "SendFile": file,
		"Delete": b.Delete(t.Context(), chat.MessageRef{Target: to, ID: "5"}),
		"Typing": b.Typing(t.Context(), to),
		"Draft":  b.Draft(t.Context(), to, 5, chat.Outgoing{Text: "x"}),
	} {
		if failure := wantKind(t, err, chat.Moved); failure.Moved != "-1002147483648" {
			t.Errorf("%s: moved to %q, want -1002147483648", call, failure.Moved)
		}
	}
}
