package telegram

import (
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
)

// A draft must have formatting, but no link previews, and must reply to no message.
func TestDraftEncoding(t *testing.T) {
	t.Parallel()
	b, last := record(t, `{"ok":true,"result":true}`)
	m := chat.Outgoing{Text: "🦊 code", Spans: []chat.Span{{Kind: "code", Offset: 3, Length: 4}}, ReplyTo: "41", Preview: true}
	if err := b.Draft(t.Context(), chat.Target{Chat: "7", Thread: "12"}, 1<<32, m); err != nil {
		t.Fatal(err)
	}
	wantForm(t, last(), map[string]string{
		"": "sendMessageDraft", "chat_id": "7", "message_thread_id": "12", "draft_id": "4294967296",
		"text": "🦊 code", "entities": `[{"type":"code","offset":3,"length":4}]`,
	})
	if err := b.Draft(t.Context(), private, 5, chat.Outgoing{}); err != nil { // the "Thinking…" placeholder
		t.Fatal(err)
	}
	wantForm(t, last(), map[string]string{"": "sendMessageDraft", "chat_id": "7", "draft_id": "5"})
	wantKind(t, b.Draft(t.Context(), chat.Target{Chat: "C0123"}, 5, m), chat.Forbidden)
}

// If the server does not support drafts, Draft must fail with Rejected, so that the gateway uses edits instead. Errors
// about the chat, the token or the rate limit must have the same kinds as in other calls.
func TestDraftFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   chat.ErrorKind
	}{
		{400, refusal(400, "Bad Request: TEXTDRAFT_PEER_INVALID", ""), chat.Rejected},
		{404, refusal(404, "Not Found: method not found", ""), chat.Rejected},
		{404, refusal(404, "Not Found", ""), chat.Rejected},
		{404, "<html>nginx</html>", chat.Uncertain},
		{400, refusal(400, "Bad Request: can't parse entities", ""), chat.Rejected},
		{400, refusal(400, "Bad Request: MESSAGE_TOO_LONG", ""), chat.TooLong},
		{400, refusal(400, "Bad Request: group chat was upgraded to a supergroup chat", `{"migrate_to_chat_id":-1002147483648}`), chat.Moved},
		{401, refusal(401, "Unauthorized", ""), chat.Auth},
		{403, refusal(403, "Forbidden: bot was blocked by the user", ""), chat.Forbidden},
		{429, refusal(429, "Too Many Requests: retry after 280", `{"retry_after":280}`), chat.RateLimited},
		{502, "<html>", chat.Uncertain},
	} {
		b := serveAnswer(t, c.status, c.body)
		failure := wantKind(t, b.Draft(t.Context(), private, 5, chat.Outgoing{Text: "x"}), c.want)
		if c.want == chat.RateLimited && failure.RetryAfter != 280*time.Second {
			t.Errorf("retry after %v, want 280s", failure.RetryAfter)
		}
		if !strings.HasPrefix(failure.Err.Error(), "sendMessageDraft: ") {
			t.Errorf("error = %q, want the method first", failure.Err)
		}
	}
}
