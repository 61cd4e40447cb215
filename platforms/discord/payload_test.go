package discord

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"
	"pgregory.net/rapid"

	"telex/internal/chat"
	"telex/platforms/conformance"
)

// recorded returns a bot and a function that returns the bot's last request and its decoded body. If the body is a
// multipart form, the returned function decodes the message in the form.
func recorded(t *testing.T) (*Bot, func() (*http.Request, map[string]any)) {
	t.Helper()
	type call struct {
		r    *http.Request
		body map[string]any
	}
	calls := make(chan call, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if kind, args, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
			form, err := multipart.NewReader(strings.NewReader(string(data)), args["boundary"]).ReadForm(1 << 20)
			if err != nil {
				t.Error(err)
			}
			data = []byte(form.Value["payload_json"][0])
		}
		var body map[string]any
		if len(data) > 0 {
			if err := json.Unmarshal(data, &body); err != nil {
				t.Error(err)
			}
		}
		calls <- call{r, body}
		_, _ = w.Write([]byte(`{"id":"77"}`))
	}))
	t.Cleanup(server.Close)
	b := New(Options{Token: testToken, APIBase: server.URL + "/"})
	t.Cleanup(b.Close)
	return b, func() (*http.Request, map[string]any) {
		c := <-calls
		return c.r, c.body
	}
}

// No message that the bot sends may notify anybody. A new message with a key must have a nonce. A message may show link
// previews only if its field LinkPreview is set.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	b, last := recorded(t)
	quiet := map[string]any{"parse": []any{}, "replied_user": false}
	to := chat.Target{Chat: "1", Kind: chat.Group}
	m := chat.Outgoing{Text: "hi @everyone", Key: "k", ReplyTo: "5", Preview: true, Actions: []chat.Action{{ID: "stop:1", Label: strings.Repeat("ü", 90)}}}
	check := func(body map[string]any, want map[string]any) {
		t.Helper()
		for name, v := range want {
			if !reflect.DeepEqual(body[name], v) {
				t.Errorf("%s is %v, want %v", name, body[name], v)
			}
		}
	}
	if _, err := b.Send(t.Context(), to, m); err != nil {
		t.Fatal(err)
	}
	r, body := last()
	if r.URL.Path != "/api/v10/channels/1/messages" || r.Header.Get("Authorization") != "Bot "+testToken || r.Header.Get("User-Agent") != "DiscordBot (https://telex.invalid, 0)" {
		t.Errorf("the request is %s %v", r.URL, r.Header)
	}
	check(body, map[string]any{
		"content": "hi @everyone", "enforce_nonce": true, "allowed_mentions": quiet, "flags": 4.0,
		"message_reference": map[string]any{"message_id": "5", "fail_if_not_exists": false},
		"components": []any{map[string]any{"type": 1.0, "components": []any{map[string]any{
			"type": 2.0, "style": 2.0, "label": strings.Repeat("ü", 79) + "…", "custom_id": "stop:1", "disabled": false,
		}}}},
	})
	nonce, _ := body["nonce"].(string)
	if nonce == "" || utf8.RuneCountInString(nonce) > 25 {
		t.Errorf("the nonce is %q", nonce)
	}
	m.Preview, m.Actions = false, nil
	if _, err := b.Edit(t.Context(), chat.MessageRef{Target: to, ID: "77"}, m); err != nil {
		t.Fatal(err)
	}
	_, body = last()
	check(body, map[string]any{"allowed_mentions": quiet, "flags": 4.0, "components": []any{}, "nonce": nil, "message_reference": nil})
	m.LinkPreview = "https://example.org"
	if _, err := b.Edit(t.Context(), chat.MessageRef{Target: to, ID: "77"}, m); err != nil {
		t.Fatal(err)
	}
	_, body = last()
	check(body, map[string]any{"flags": 0.0})
	m.LinkPreview = ""
	if _, err := b.SendFile(t.Context(), to, m, chat.File{Name: "a b.md", Content: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	_, body = last()
	check(body, map[string]any{
		"allowed_mentions": quiet, "enforce_nonce": true, "nonce": nonce, "attachments": []any{map[string]any{"id": 0.0, "filename": "a_b.md"}},
	})
	m.Key = ""
	if _, err := b.Send(t.Context(), to, m); err != nil {
		t.Fatal(err)
	}
	_, body = last()
	check(body, map[string]any{"enforce_nonce": nil, "nonce": nil})
	c := command{app: "11", interaction: "22", token: "to/k en"}
	if _, err := b.Send(t.Context(), to, chat.Outgoing{Text: "x", ReplyTo: c.id()}); err != nil {
		t.Fatal(err)
	}
	r, body = last()
	if r.URL.EscapedPath() != "/api/v10/webhooks/11/to%2Fk%20en/messages/@original" || r.Header.Get("Authorization") != "" {
		t.Errorf("the request is %s with %q", r.URL.EscapedPath(), r.Header.Get("Authorization"))
	}
	check(body, map[string]any{"allowed_mentions": quiet, "nonce": nil})
}

// The nonce must depend on the idempotency key and on the channel. The same key and channel must give the same nonce.
func TestNonce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key, channel := rapid.StringN(1, 50, -1).Draw(t, "key"), snowflakes().Draw(t, "channel")
		a := message{}.withNonce(channel, key).Nonce
		if len(a) > 25 || a != (message{}).withNonce(channel, key).Nonce {
			t.Fatalf("the nonce is %q", a)
		}
		if a == (message{}).withNonce(channel, key+"x").Nonce || a == (message{}).withNonce(channel+"1", key).Nonce {
			t.Fatal("two messages have one nonce")
		}
	})
}

func TestNameOfThread(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "Conversation",
		" \n ":                      "Conversation",
		"why?":                      "why?",
		"two\nlines\tand  spaces":   "two lines and spaces",
		strings.Repeat("x", 200):    strings.Repeat("x", 59) + "…",
		strings.Repeat("word ", 40): strings.TrimSpace(strings.Repeat("word ", 12)) + "…",
	} {
		if got := threadNameOf(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if n := utf8.RuneCountInString(threadNameOf(rapid.String().Draw(t, "text"))); n < 1 || n > maxThreadName {
			t.Fatalf("a name has %d characters", n)
		}
	})
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"answer.md": "answer.md", "../../etc/passwd": "passwd", `C:\a\"b".md`: "_b_.md", "": "file", " .": "file",
		"a\r\nb.md": "a__b.md", "my file.md": "my_file.md", strings.Repeat("x", 300) + ".md": strings.Repeat("x", 57) + ".md",
	} {
		if got := fileName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestTooLargeAFile(t *testing.T) {
	t.Parallel()
	b := serveAnswer(t, http.StatusOK, nil, "")
	_, err := b.SendFile(t.Context(), chat.Target{Chat: "1"}, chat.Outgoing{}, chat.File{Name: "x", Content: make([]byte, maxUpload+1)})
	if chat.AsSendError(err).Kind != chat.TooLong {
		t.Errorf("SendFile = %v, want that it is too long", err)
	}
}

// The bot must request files only from Discord's own hosts.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	b := serveAnswer(t, http.StatusOK, nil, "content")
	for _, address := range []string{
		"https://example.org/a", "http://cdn.discordapp.com/a", "https://cdn.discordapp.com.example.org/a", "https://u@cdn.discordapp.com/a",
		"file:///etc/passwd", "https://cdn.discordapp.com:1/a", "//cdn.discordapp.com/a", "%", strings.TrimSuffix(b.api, "/api/v10") + "/api/v10/users/@me",
	} {
		if _, err := b.Fetch(t.Context(), chat.Attachment{ID: address}, 100); chat.AsSendError(err).Kind != chat.Rejected {
			t.Errorf("%s: Fetch = %v, want that it is rejected", address, err)
		}
	}
	own := strings.TrimSuffix(b.api, "/api/v10") + "/attachments/1/2/a.txt"
	if got, err := b.Fetch(t.Context(), chat.Attachment{ID: own}, 100); err != nil || string(got) != "content" {
		t.Errorf("Fetch = %q, %v", got, err)
	}
}

func TestFetchThatIsGivenUp(t *testing.T) {
	t.Parallel()
	conformance.GivenUp(t, func(ctx context.Context, through http.RoundTripper) ([]byte, error) {
		b := New(Options{Token: testToken, HTTP: through})
		defer b.Close()
		return b.Fetch(ctx, chat.Attachment{ID: "https://cdn.discordapp.com/attachments/1/2/a.txt"}, 100)
	})
}

func TestPlacesThatAreNone(t *testing.T) {
	t.Parallel()
	b := serveAnswer(t, http.StatusOK, nil, `{"id":"1"}`)
	for _, to := range []chat.Target{{}, {Chat: "x"}, {Chat: "1", Thread: "../2"}, {Chat: "1/2"}} {
		if _, err := b.Send(t.Context(), to, chat.Outgoing{Text: "x"}); chat.AsSendError(err).Kind != chat.Forbidden {
			t.Errorf("%+v: Send = %v, want that it is forbidden", to, err)
		}
		if _, err := b.Edit(t.Context(), chat.MessageRef{Target: to, ID: "1"}, chat.Outgoing{Text: "x"}); chat.AsSendError(err).Kind != chat.Gone {
			t.Errorf("%+v: Edit = %v, want that it is gone", to, err)
		}
	}
}

// The connection to the gateway may be unencrypted only if the API's URL is unencrypted too.
func TestGatewayAddress(t *testing.T) {
	t.Parallel()
	b := New(Options{Token: testToken})
	for _, address := range []string{"ws://gateway.discord.gg", "http://x", "", "%", "wss://"} {
		if l, err := b.open(t.Context(), address, func(*discordgo.Event) {}); err == nil || !strings.Contains(err.Error(), "invalid gateway URL") {
			t.Errorf("%q: open = %v, %v", address, l, err)
		}
	}
}

// telex did not create a command that opens an Activity, so SetCommands must keep the command unchanged.
func TestEntryPointStays(t *testing.T) {
	t.Parallel()
	const foreign = `{"id":"9","type":4,"name":"launch","description":"","handler":2,"contexts":null,"integration_types":[0,1]}`
	const stale = `{"id":"8","type":2,"name":"Old","description":"","contexts":[0]}`
	var put []map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/@me"):
			_, _ = w.Write([]byte(`{"id":"5"}`))
		case r.Method == http.MethodPut:
			if err := json.NewDecoder(r.Body).Decode(&put); err != nil {
				t.Error(err)
			}
			_, _ = w.Write([]byte(`[]`))
		default:
			_, _ = w.Write([]byte("[" + foreign + "," + stale + "]"))
		}
	}))
	t.Cleanup(server.Close)
	b := New(Options{Token: testToken, APIBase: server.URL})
	t.Cleanup(b.Close)
	if err := b.SetCommands(t.Context(), []chat.CommandSpec{{Name: "new", Description: "Start anew"}}, nil); err != nil {
		t.Fatal(err)
	}
	if len(put) != 2 || put[0]["name"] != "launch" || put[0]["handler"] != 2.0 || put[1]["name"] != "new" {
		t.Errorf("set were %v, want the foreign one and /new", put)
	}
}

// The User-Agent header of each call must contain a URL and a version, as Discord requires:
// https://docs.discord.com/developers/reference#user-agent
func TestUserAgent(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"v1.2.3": "DiscordBot (https://telex.invalid, 1.2.3)", "0.9.0-rc.1+x": "DiscordBot (https://telex.invalid, 0.9.0-rc.1+x)",
		"": "DiscordBot (https://telex.invalid, 0)", "(devel)": "DiscordBot (https://telex.invalid, 0)", "1, x)": "DiscordBot (https://telex.invalid, 0)",
	} {
		if got := userAgent(version); got != want {
			t.Errorf("%q: got %q, want %q", version, got, want)
		}
	}
}
