package telegram

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
	standin "telex/standin/telegram"
)

// record returns a bot, and a function that returns the form of the bot's last call. In the returned form, the key ""
// contains the name of the API method.
func record(t *testing.T, answer string) (*Bot, func() map[string]string) {
	t.Helper()
	forms := make(chan map[string]string, 16)
	b := serve(t, func(w http.ResponseWriter, r *http.Request, method string) {
		if err := r.ParseForm(); err != nil {
			t.Errorf("parse the form: %v", err)
		}
		form := map[string]string{"": method}
		for key, values := range r.PostForm {
			form[key] = values[0]
		}
		forms <- form
		_, _ = w.Write([]byte(answer))
	})
	return b, func() map[string]string { return <-forms }
}

func wantForm(t *testing.T, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("the call was\n %q, want\n %q", got, want)
	}
}

// noPreview is the parameter that turns link previews off.
const noPreview = `{"is_disabled":true}`

func TestEncoding(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b, last := record(t, `{"ok":true,"result":{"message_id":99,"date":1,"chat":{"id":7,"type":"private"}}}`)
	ref := chat.MessageRef{Target: private, ID: "99"}

	receipt, err := b.Send(ctx, private, chat.Outgoing{Text: "hi & <you>", Plain: "p", Source: "s", Key: "k"})
	if want := (chat.Receipt{Ref: ref}); err != nil || receipt.Ref != want.Ref {
		t.Errorf("Send = %+v, %v, want %+v", receipt, err, want)
	}
	wantForm(t, last(), map[string]string{"": "sendMessage", "chat_id": "7", "text": "hi & <you>", "link_preview_options": noPreview})

	topic := chat.Target{Chat: "-100200300", Thread: "12", Kind: chat.Group}
	rich := chat.Outgoing{
		Text: "🦊 code link",
		Spans: []chat.Span{
			{Kind: "pre", Offset: 3, Length: 4, Language: "go"},
			{Kind: "text_link", Offset: 8, Length: 4, URL: "https://example.org/?a=1&b=2"},
		},
		ReplyTo: "41",
		Preview: true,
	}
	const spans = `[{"type":"pre","offset":3,"length":4,"language":"go"},` +
		`{"type":"text_link","offset":8,"length":4,"url":"https://example.org/?a=1\u0026b=2"}]`
	receipt, err = b.Send(ctx, topic, rich)
	if want := (chat.Receipt{Ref: chat.MessageRef{Target: topic, ID: "99"}}); err != nil || receipt.Ref != want.Ref {
		t.Errorf("Send = %+v, %v, want %+v", receipt, err, want)
	}
	wantForm(t, last(), map[string]string{
		"": "sendMessage", "chat_id": "-100200300", "message_thread_id": "12", "text": "🦊 code link",
		"entities":             spans,
		"reply_parameters":     `{"message_id":41,"allow_sending_without_reply":true}`,
		"link_preview_options": `{"is_disabled":true}`,
	})

	receipt, err = b.Edit(ctx, chat.MessageRef{Target: topic, ID: "99"}, rich)
	if want := (chat.Receipt{Ref: chat.MessageRef{Target: topic, ID: "99"}}); err != nil || receipt.Ref != want.Ref {
		t.Errorf("Edit = %+v, %v, want %+v", receipt, err, want)
	}
	wantForm(t, last(), map[string]string{
		"": "editMessageText", "chat_id": "-100200300", "message_id": "99", "text": "🦊 code link",
		"entities": spans, "link_preview_options": `{"is_disabled":true}`,
	})

	rich.Preview, rich.LinkPreview = false, "https://example.org/?a=1&b=2"
	if _, err := b.Edit(ctx, ref, rich); err != nil {
		t.Error(err)
	}
	wantForm(t, last(), map[string]string{
		"": "editMessageText", "chat_id": "7", "message_id": "99", "text": "🦊 code link", "entities": spans,
		"link_preview_options": `{"url":"https://example.org/?a=1\u0026b=2"}`,
	})

	if err := b.Delete(ctx, ref); err != nil {
		t.Error(err)
	}
	wantForm(t, last(), map[string]string{"": "deleteMessage", "chat_id": "7", "message_id": "99"})
	if err := b.Typing(ctx, topic); err != nil {
		t.Error(err)
	}
	wantForm(t, last(), map[string]string{
		"": "sendChatAction", "chat_id": "-100200300", "message_thread_id": "12", "action": "typing",
	})

	// In the following call of Send, ReplyTo is not the id of a message. The bot must send the message, but not as a
	// reply.
	if _, err := b.Send(ctx, private, chat.Outgoing{Text: "x", ReplyTo: "q3"}); err != nil {
		t.Error(err)
	}
	wantForm(t, last(), map[string]string{"": "sendMessage", "chat_id": "7", "text": "x", "link_preview_options": noPreview})
}

// The bot must put all buttons of a message into one row. An edit without buttons must contain no keyboard, so that
// Telegram removes the existing keyboard. A draft must have at most one button, the stop button.
func TestButtons(t *testing.T) {
	t.Parallel()
	b, last := record(t, `{"ok":true,"result":{"message_id":99}}`)
	ctx, ref := t.Context(), chat.MessageRef{Target: private, ID: "99"}
	m := chat.Outgoing{Text: "x", Actions: []chat.Action{{ID: "stop:1a", Label: "Stop <it>"}, {ID: "go", Label: "Go"}}}
	const markup = `{"inline_keyboard":[[{"text":"Stop \u003cit\u003e","callback_data":"stop:1a"},{"text":"Go","callback_data":"go"}]]}`
	_, err := b.Send(ctx, private, m)
	if err != nil {
		t.Fatal(err)
	}
	wantForm(t, last(), map[string]string{"": "sendMessage", "chat_id": "7", "text": "x", "reply_markup": markup, "link_preview_options": noPreview})
	if _, err := b.Edit(ctx, ref, m); err != nil {
		t.Fatal(err)
	}
	wantForm(t, last(), map[string]string{"": "editMessageText", "chat_id": "7", "message_id": "99", "text": "x", "reply_markup": markup, "link_preview_options": noPreview})
	if _, err := b.Edit(ctx, ref, chat.Outgoing{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	wantForm(t, last(), map[string]string{"": "editMessageText", "chat_id": "7", "message_id": "99", "text": "x", "link_preview_options": noPreview})
	if err := b.Draft(ctx, private, 5, m); err != nil {
		t.Fatal(err)
	}
	wantForm(t, last(), map[string]string{"": "sendMessageDraft", "chat_id": "7", "draft_id": "5", "text": "x", "can_stop": "true", "keep_on_stop": "true"})
}

func TestAtMostHundredEntities(t *testing.T) {
	t.Parallel()
	b, last := record(t, `{"ok":true,"result":{"message_id":1}}`)
	spans := slices.Repeat([]chat.Span{{Kind: "bold", Length: 1}}, 101)
	if _, err := b.Send(t.Context(), private, chat.Outgoing{Text: strings.Repeat("x", 200), Spans: spans}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(last()["entities"], "bold"); got != 100 {
		t.Errorf("%d entities were sent, want 100", got)
	}
}

// If Telegram reports success but returns no message id, Send must succeed. The bot can't edit a message without an id
// later (F57).
func TestSuccessWithoutID(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"ok":true,"result":true}`, `{"ok":true}`, `{"ok":true,"result":{}}`, `{"ok":true,"result":null}`} {
		b := serveAnswer(t, 200, body)
		receipt, err := b.Send(t.Context(), private, chat.Outgoing{Text: "x"})
		if want := (chat.Receipt{Ref: chat.MessageRef{Target: private}}); err != nil || receipt.Ref != want.Ref {
			t.Errorf("%s: Send = %+v, %v, want %+v", body, receipt, err, want)
		}
	}
}

// If a given chat id or message id has a form that Telegram never uses, the bot's methods must fail without a call of
// the API.
func TestForeignIDs(t *testing.T) {
	t.Parallel()
	b := newBot(t, Options{HTTP: roundTripper(func(*http.Request) (*http.Response, error) {
		t.Error("a call was made")
		return nil, http.ErrHandlerTimeout
	})})
	ctx := t.Context()
	elsewhere := chat.Target{Chat: "C0123"}
	_, err := b.Send(ctx, elsewhere, chat.Outgoing{Text: "x"})
	wantKind(t, err, chat.Forbidden)
	_, err = b.Edit(ctx, chat.MessageRef{Target: elsewhere, ID: "1"}, chat.Outgoing{Text: "x"})
	wantKind(t, err, chat.Forbidden)
	wantKind(t, b.Typing(ctx, elsewhere), chat.Forbidden)
	_, err = b.Edit(ctx, chat.MessageRef{Target: private}, chat.Outgoing{Text: "x"})
	wantKind(t, err, chat.Gone)
	wantKind(t, b.Delete(ctx, chat.MessageRef{Target: private, ID: "q3"}), chat.Gone)
}

func TestProfile(t *testing.T) {
	t.Parallel()
	b := newBot(t, Options{})
	if got, want := b.Capabilities(), (chat.Capabilities{Edit: true, Delete: true, Typing: true, File: true, Draft: true, Find: true, Fetch: true, Menu: true, Buttons: true, OneReceiver: true}); got != want {
		t.Errorf("Capabilities = %+v, want %+v", got, want)
	}
	const messages = chat.OpSend | chat.OpEdit | chat.OpDraft | chat.OpFile | chat.OpFind
	all := chat.Limit{Scope: chat.ScopeEndpoint, Ops: chat.OpAll, Count: 30, Window: time.Second, Burst: 30}
	for _, c := range []struct {
		to       chat.Target
		interval time.Duration
		draft    time.Duration
		inChat   chat.Limit
	}{
		{private, 1500 * time.Millisecond, 25 * time.Second, chat.Limit{Scope: chat.ScopeChat, Ops: messages, Count: 20, Window: 20 * time.Second, Burst: 3}},
		{group, 3 * time.Second, 0, chat.Limit{Scope: chat.ScopeChat, Ops: messages, Count: 18, Window: time.Minute, Burst: 3}},
	} {
		got := b.Profile(c.to)
		if got.TextLimit != 4096 || got.EditInterval != c.interval || got.TypingEvery != 4*time.Second || got.DraftFor != c.draft {
			t.Errorf("%v: Profile = %+v", c.to.Kind, got)
		}
		if want := []chat.Limit{c.inChat, all}; !slices.Equal(got.Limits, want) {
			t.Errorf("%v: limits = %+v, want %+v", c.to.Kind, got.Limits, want)
		}
		if published := standin.PublishedLimits().GroupPerMinute; c.to == group && c.inChat.Count+c.inChat.Burst-1 > published {
			t.Errorf("two processes may make %d calls in a minute, want at most %d", c.inChat.Count+c.inChat.Burst-1, published)
		}
	}
}
