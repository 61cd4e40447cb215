package discord

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
)

const testToken = "MTIz.GabCde.a-secret_token"

// serveAnswer returns a bot whose API responds to every call with the same status and body.
func serveAnswer(t *testing.T, status int, header map[string]string, body string) *Bot {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, v := range header {
			w.Header().Set(name, v)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	b := New(Options{Token: testToken, APIBase: server.URL})
	t.Cleanup(b.Close) // b.Close must run before server.Close, which waits until all connections are closed
	return b
}

const (
	errorPage = "<html><head><title>403 Forbidden</title></head><body><center>cloudflare</center></body></html>"
	formError = `{"code":50035,"message":"Invalid Form Body","errors":{"content":{"_errors":[{"code":"%","message":"x"}]}}}`
)

func TestClassify(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   chat.ErrorKind
	}{
		"unauthorized":         {401, `{"message":"401: Unauthorized","code":0}`, chat.Auth},
		"a proxy's 401":        {401, errorPage, chat.Temporary},
		"a proxy's 403":        {403, errorPage, chat.Temporary},
		"a proxy's 404":        {404, errorPage, chat.Temporary},
		"a proxy's 413":        {413, errorPage, chat.TooLong},
		"a proxy's 502":        {502, errorPage, chat.Uncertain},
		"a proxy's 504, empty": {504, "", chat.Uncertain},
		"a redirect":           {302, "", chat.Temporary},
		"not found at all":     {404, `{"message":"404: Not Found","code":0}`, chat.Temporary},
		"missing access":       {403, `{"message":"Missing Access","code":50001}`, chat.Forbidden},
		"missing permissions":  {403, `{"message":"Missing Permissions","code":50013}`, chat.Forbidden},
		"closed DM":            {403, `{"message":"Cannot send messages to this user","code":50007}`, chat.Forbidden},
		"some other 403":       {403, `{"message":"No","code":12345}`, chat.Forbidden},
		"stopped on its way":   {403, `{"message":"internal network error","code":40333}`, chat.Temporary},
		"unknown channel":      {404, `{"message":"Unknown Channel","code":10003}`, chat.Forbidden},
		"unknown guild":        {404, `{"message":"Unknown Guild","code":10004}`, chat.Forbidden},
		"unknown message":      {404, `{"message":"Unknown Message","code":10008}`, chat.Gone},
		"foreign message":      {403, `{"message":"Cannot edit a message authored by another user","code":50005}`, chat.Gone},
		"empty message":        {400, `{"message":"Cannot send an empty message","code":50006}`, chat.Rejected},
		"too long":             {400, strings.Replace(formError, "%", "BASE_TYPE_MAX_LENGTH", 1), chat.TooLong},
		"bad length":           {400, strings.Replace(formError, "%", "BASE_TYPE_BAD_LENGTH", 1), chat.TooLong},
		"bad form":             {400, strings.Replace(formError, "%", "SOMETHING_ELSE", 1), chat.Rejected},
		"bad form of another":  {400, `{"code":50035,"message":"x","errors":{"embeds":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH"}]}}}`, chat.Rejected},
		"bad form, malformed":  {400, `{"code":50035,"message":"x","errors":[1]}`, chat.Rejected},
		"entity too large":     {413, `{"message":"Request entity too large","code":40005}`, chat.TooLong},
		"file too large":       {400, `{"message":"File uploaded exceeds the maximum size","code":50045}`, chat.TooLong},
		"old edits":            {429, `{"message":"Maximum number of edits to messages older than 1 hour reached.","code":30046,"retry_after":900}`, chat.Frozen},
		"rate limit":           {429, `{"message":"You are being rate limited.","retry_after":1.5,"global":false}`, chat.RateLimited},
		"slowmode":             {429, `{"message":"x","code":20016,"retry_after":1.5}`, chat.RateLimited},
		"write rate limit":     {429, `{"message":"x","code":20028,"retry_after":1.5}`, chat.RateLimited},
		"locked thread":        {400, `{"message":"Thread is locked","code":160005}`, chat.Forbidden},
		"archived thread":      {400, `{"message":"Thread is archived","code":50083}`, chat.Forbidden},
		"automod":              {400, `{"message":"Message was blocked by automatic moderation","code":200000}`, chat.Rejected},
		"harmful link":         {400, `{"message":"x","code":240000}`, chat.Rejected},
		"overloaded":           {503, `{"message":"API resource is currently overloaded. Try again a little later","code":130000}`, chat.Temporary},
		"internal":             {500, `{"message":"500: Internal Server Error","code":0}`, chat.Uncertain},
		"unknown code":         {400, `{"message":"x","code":99999}`, chat.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := serveAnswer(t, c.status, nil, c.body)
			_, err := b.Edit(t.Context(), chat.MessageRef{Target: chat.Target{Chat: "1"}, ID: "2"}, chat.Outgoing{Text: "x"})
			if e := chat.AsSendError(err); err == nil || e.Kind != c.want {
				t.Errorf("Edit = %v, want %v", err, c.want)
			}
		})
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	const limited = `{"message":"You are being rate limited.","retry_after":1.2345,"global":false}`
	for name, c := range map[string]struct {
		header map[string]string
		body   string
		wait   time.Duration
		scope  chat.Scope
		ops    chat.Op
	}{
		"user":   {map[string]string{"X-RateLimit-Scope": "user", "Retry-After": "2"}, limited, 1235 * time.Millisecond, chat.ScopeThread, chat.OpSend},
		"bucket": {map[string]string{"X-RateLimit-Scope": "user", "X-RateLimit-Bucket": "m"}, limited, 1235 * time.Millisecond, chat.ScopeThread, chat.OpSend | chat.OpFile},
		"shared": {map[string]string{"X-RateLimit-Scope": "shared"}, limited, 1235 * time.Millisecond, chat.ScopeThread, chat.OpSend},
		"global": {
			map[string]string{"X-RateLimit-Scope": "global", "X-RateLimit-Global": "true"}, limited, 1235 * time.Millisecond, chat.ScopeEndpoint, chat.OpAll,
		},
		"global in the body": {nil, `{"message":"x","retry_after":3,"global":true}`, 3 * time.Second, chat.ScopeEndpoint, chat.OpAll},
		"header alone":       {map[string]string{"Retry-After": "7"}, `{"message":"x"}`, 7 * time.Second, chat.ScopeThread, chat.OpSend},
		"ban of an address":  {map[string]string{"Retry-After": "600"}, "error code: 1015", 10 * time.Minute, chat.ScopeEndpoint, chat.OpAll},
		"no wait":            {nil, "error code: 1015", defaultRetryAfter, chat.ScopeEndpoint, chat.OpAll},
		"nonsense":           {map[string]string{"Retry-After": "-1"}, `{"message":"x","retry_after":1e300}`, defaultRetryAfter, chat.ScopeThread, chat.OpSend},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := serveAnswer(t, http.StatusTooManyRequests, c.header, c.body)
			_, err := b.Send(t.Context(), chat.Target{Chat: "1"}, chat.Outgoing{Text: "x"})
			if e := chat.AsSendError(err); e.Kind != chat.RateLimited || e.RetryAfter != c.wait || e.Scope != c.scope || e.Ops != c.ops {
				t.Errorf("Send = %v, %v, scope %v, kinds %b, want %v, scope %v, kinds %b", err, e.RetryAfter, e.Scope, e.Ops, c.wait, c.scope, c.ops)
			}
		})
	}
}

// If a response's headers contain a valid rate limit, rateLimitInfo must return the limit for all kinds of calls that
// share the bucket. If the rate limit in the headers is invalid, rateLimitInfo must ignore the limit.
func TestTold(t *testing.T) {
	t.Parallel()
	headers := func(limit, left, reset, bucket string) http.Header {
		h := http.Header{}
		for name, v := range map[string]string{"Limit": limit, "Remaining": left, "Reset-After": reset, "Bucket": bucket} {
			if v != "" {
				h.Set("X-RateLimit-"+name, v)
			}
		}
		return h
	}
	b := newBuckets()
	if got := b.rateLimitInfo(request{op: chat.OpSend}, headers("5", "4", "4.5", "m")); len(got) != 1 ||
		got[0] != (chat.RateLimitInfo{Scope: chat.ScopeThread, Ops: chat.OpSend | chat.OpFile, Limit: 5, Remaining: 4, Reset: 4500 * time.Millisecond}) {
		t.Errorf("told %+v", got)
	}
	if got := b.rateLimitInfo(request{op: chat.OpEdit}, headers("5", "3", "4", "m")); len(got) != 1 || got[0].Ops != chat.OpSend|chat.OpFile|chat.OpEdit {
		t.Errorf("told %+v, want sends and edits together", got)
	}
	if got := b.rateLimitInfo(request{op: chat.OpDelete}, headers("3", "3", "0", "d")); len(got) != 1 || got[0].Ops != chat.OpDelete {
		t.Errorf("told %+v, want deletes alone", got)
	}
	if got := b.rateLimitInfo(request{op: chat.OpEdit, token: "x"}, headers("5", "3", "4", "w")); len(got) != 1 || got[0].Scope != chat.ScopeMessage {
		t.Errorf("told %+v, want the message alone", got)
	}
	for _, h := range []http.Header{
		{},
		headers("5", "4", "", "m"), headers("0", "0", "1", "m"), headers("5", "6", "1", "m"), headers("5", "-1", "1", "m"),
		headers("5", "4", "NaN", "m"), headers("5", "4", "-1", "m"), headers("5", "4", "1e9", "m"), headers("5", "4", "1", ""), headers("x", "4", "1", "m"),
	} {
		if got := b.rateLimitInfo(request{op: chat.OpSend}, h); got != nil {
			t.Errorf("of %v told %+v, want nothing", h, got)
		}
	}
	if got := b.rateLimitInfo(request{op: chat.OpSend, token: "x"}, headers("5", "3", "4", "w")); got != nil {
		t.Errorf("told %+v, want nothing of a bucket that sends don't fill", got)
	}
}

// If the bot can't read the response to a create call, the message may exist or not. If the bot can't read the
// response, Send must fail with Uncertain, so that the gateway repeats the create call with the same idempotency key.
func TestUnreadableAnswer(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "{", `{"id":""}`, `{"id":5}`, errorPage} {
		b := serveAnswer(t, http.StatusOK, nil, body)
		if _, err := b.Send(t.Context(), chat.Target{Chat: "1"}, chat.Outgoing{Text: "x", Key: "k"}); chat.AsSendError(err).Kind != chat.Uncertain {
			t.Errorf("%q: Send = %v, want an uncertain failure", body, err)
		}
	}
}

// If the bot may not read the channel's history, Send must repeat the call without the reference to the message that
// it replies to.
func TestReplyWithoutHistory(t *testing.T) {
	t.Parallel()
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m map[string]any
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		if calls++; m["message_reference"] != nil {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"message":"Cannot reply without permission to read message history","code":160002}`))
			return
		}
		_, _ = w.Write([]byte(`{"id":"77","components":[{"type":99}],"unknown":{}}`))
	}))
	t.Cleanup(server.Close)
	b := New(Options{Token: testToken, APIBase: server.URL})
	t.Cleanup(b.Close)
	r, err := b.Send(t.Context(), chat.Target{Chat: "1", Kind: chat.Group}, chat.Outgoing{Text: "x", Key: "k", ReplyTo: "5"})
	if err != nil || r.Ref.ID != "77" || calls != 2 {
		t.Errorf("Send = %+v, %v after %d calls", r, err, calls)
	}
}
