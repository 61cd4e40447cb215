package whatsapp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/platforms/conformance"
)

const (
	token  = "EAA-access-hidden"
	secret = "app-hidden"
	verify = "verify-hidden"
)

// The function person returns the recipient of the messages in these tests.
func person() chat.Target { return chat.Target{Chat: "US.13491208655302741918"} }

// roundTripper is an http.RoundTripper that answers each request without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// request is a request that the API received.
type request struct {
	method, path, auth string
	header             http.Header
	body               string
}

// api is a bot and the API that it calls. The API returns the given answers one after the other, and then repeats the
// last answer.
type api struct {
	*Bot
	requests []request
}

type answer struct {
	status int
	body   string
	header http.Header
}

func connect(t *testing.T, answers ...answer) *api {
	t.Helper()
	a := &api{}
	a.Bot = New(Options{
		AccessToken: token, PhoneNumberID: numberID, AppSecret: secret, VerifyToken: verify, APIBase: "https://graph.test/",
		HTTP: roundTripper(func(r *http.Request) (*http.Response, error) {
			body := ""
			if r.Body != nil {
				content, _ := io.ReadAll(r.Body)
				body = string(content)
			}
			a.requests = append(a.requests, request{r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"), r.Header, body})
			now := answers[min(len(a.requests), len(answers))-1]
			if now.header == nil {
				now.header = http.Header{}
			}
			return &http.Response{StatusCode: now.status, Header: now.header, Body: io.NopCloser(strings.NewReader(now.body)), Request: r}, nil
		}),
	})
	t.Cleanup(a.Close)
	return a
}

// sent is the response to a call that sends a message, copied from Meta's documentation.
const sent = `{"messaging_product":"whatsapp","contacts":[{"input":"16505551234","wa_id":"16505551234"}],"messages":[{"id":"wamid.S"}]}`

func TestSend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		to   chat.ChatID
		m    chat.Outgoing
		want string
	}{
		{
			"to a user id", "US.13491208655302741918",
			chat.Outgoing{Text: "*hi*"},
			`{"messaging_product":"whatsapp","recipient_type":"individual","recipient":"US.13491208655302741918","type":"text","text":{"body":"*hi*","preview_url":false}}`,
		},
		{
			"to a number, with a preview, as a reply", "16505551234",
			chat.Outgoing{Text: "https://e.org", LinkPreview: "https://e.org", ReplyTo: "wamid.A"},
			`{"messaging_product":"whatsapp","recipient_type":"individual","to":"16505551234","context":{"message_id":"wamid.A"},"type":"text","text":{"body":"https://e.org","preview_url":true}}`,
		},
		{
			"with buttons", "16505551234",
			chat.Outgoing{Text: "Allow this?", Actions: []chat.Action{{ID: "approve:1", Label: "Allow"}, {ID: "deny:1", Label: "A label that is too long"}}},
			`{"messaging_product":"whatsapp","recipient_type":"individual","to":"16505551234","type":"interactive","interactive":{"type":"button","body":{"text":"Allow this?"},"action":{"buttons":[{"type":"reply","reply":{"id":"approve:1","title":"Allow"}},{"type":"reply","reply":{"id":"deny:1","title":"A label that is too "}}]}}}`,
		},
		{
			"with more buttons than there may be", "1",
			chat.Outgoing{Text: "x", Actions: []chat.Action{{ID: "1", Label: "1"}, {ID: "2", Label: "2"}, {ID: "3", Label: "3"}, {ID: "4", Label: "4"}}},
			`{"messaging_product":"whatsapp","recipient_type":"individual","to":"1","type":"interactive","interactive":{"type":"button","body":{"text":"x"},"action":{"buttons":[{"type":"reply","reply":{"id":"1","title":"1"}},{"type":"reply","reply":{"id":"2","title":"2"}},{"type":"reply","reply":{"id":"3","title":"3"}}]}}}`,
		},
		{
			"too long for buttons", "1",
			chat.Outgoing{Text: strings.Repeat("x", buttonTextLimit+1), Actions: []chat.Action{{ID: "1", Label: "1"}}},
			`{"messaging_product":"whatsapp","recipient_type":"individual","to":"1","type":"text","text":{"body":"` + strings.Repeat("x", buttonTextLimit+1) + `","preview_url":false}}`,
		},
	} {
		a := connect(t, answer{status: 200, body: sent})
		to := chat.Target{Chat: c.to}
		got, err := a.Send(t.Context(), to, c.m)
		if err != nil || !reflect.DeepEqual(got, chat.Receipt{Ref: chat.MessageRef{Target: to, ID: "wamid.S"}}) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
		r := a.requests[0]
		if len(a.requests) != 1 || r.method != http.MethodPost || r.path != "/v26.0/"+numberID+"/messages" || r.auth != "Bearer "+token || r.body != c.want ||
			r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got\n%+v\nwant\n%s", c.name, a.requests, c.want)
		}
	}
}

// Send and SendFile must refuse an invalid message without a call of the API.
func TestSendNothing(t *testing.T) {
	t.Parallel()
	a := connect(t, answer{status: 200, body: sent})
	file := chat.File{Name: "a.txt", MediaType: "text/plain", Content: []byte("x")}
	for name, c := range map[string]struct {
		to   chat.ChatID
		m    chat.Outgoing
		f    *chat.File
		want chat.ErrorKind
	}{
		"too long":             {"1", chat.Outgoing{Text: strings.Repeat("é", textLimit-1) + "😀"}, nil, chat.TooLong},
		"empty":                {"1", chat.Outgoing{Text: " \n"}, nil, chat.Rejected},
		"nobody":               {"US:1", chat.Outgoing{Text: "x"}, nil, chat.Forbidden},
		"a path":               {"../1", chat.Outgoing{Text: "x"}, nil, chat.Forbidden},
		"an empty file":        {"1", chat.Outgoing{}, &chat.File{Name: "a.txt", MediaType: "text/plain"}, chat.Rejected},
		"an archive":           {"1", chat.Outgoing{}, &chat.File{Name: "a.zip", MediaType: "application/zip", Content: []byte("x")}, chat.Rejected},
		"no type":              {"1", chat.Outgoing{}, &chat.File{Name: "a", Content: []byte("x")}, chat.Rejected},
		"a caption, too long":  {"1", chat.Outgoing{Text: strings.Repeat("x", captionLimit+1)}, &file, chat.TooLong},
		"a large picture":      {"1", chat.Outgoing{}, &chat.File{Name: "a.png", MediaType: "image/png", Content: make([]byte, maxImage+1)}, chat.TooLong},
		"sound with a text":    {"1", chat.Outgoing{Text: "x"}, &chat.File{Name: "a.mp3", MediaType: "audio/mpeg", Content: []byte("x")}, chat.Rejected},
		"a file that is large": {"1", chat.Outgoing{}, &chat.File{Name: "a", MediaType: "text/plain", Content: make([]byte, maxDocument+1)}, chat.TooLong},
	} {
		var err error
		if c.f != nil {
			_, err = a.SendFile(t.Context(), chat.Target{Chat: c.to}, c.m, *c.f)
		} else {
			_, err = a.Send(t.Context(), chat.Target{Chat: c.to}, c.m)
		}
		if chat.AsSendError(err).Kind != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if len(a.requests) != 0 {
		t.Errorf("calls were made: %+v", a.requests)
	}
}

func TestSendFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		f    chat.File
		kind string // the expected media type of the uploaded file
		want string // the text that the message must contain
	}{
		{"a text", chat.File{Name: "answer.md", MediaType: "text/markdown; charset=utf-8", Content: []byte("# x")}, "text/plain", `"type":"document","document":{"id":"77","caption":"all of it","filename":"answer.md"}`},
		{"a picture", chat.File{Name: "a.png", MediaType: "image/png", Content: []byte("png")}, "image/png", `"type":"image","image":{"id":"77","caption":"all of it"}`},
		{"a film", chat.File{Name: "a.mp4", MediaType: "video/mp4", Content: []byte("mp4")}, "video/mp4", `"type":"video","video":{"id":"77","caption":"all of it"}`},
		{"data", chat.File{Name: "a.json", MediaType: "application/json", Content: []byte("{}")}, "text/plain", `"type":"document","document":{"id":"77","caption":"all of it","filename":"a.json"}`},
		{"a document", chat.File{Name: "../a\"b.pdf", MediaType: "application/pdf", Content: []byte("pdf")}, "application/pdf", `"type":"document","document":{"id":"77","caption":"all of it","filename":"a_b.pdf"}`},
	} {
		a := connect(t, answer{status: 200, body: `{"id":"77"}`}, answer{status: 200, body: sent})
		if r, err := a.SendFile(t.Context(), person(), chat.Outgoing{Text: "all of it"}, c.f); err != nil || r.Ref.ID != "wamid.S" {
			t.Fatalf("%s: %+v, %v", c.name, r, err)
		}
		up := a.requests[0]
		_, params, _ := mime.ParseMediaType(up.header.Get("Content-Type"))
		form, err := multipart.NewReader(strings.NewReader(up.body), params["boundary"]).ReadForm(64 << 20)
		if err != nil || up.path != "/v26.0/"+numberID+"/media" || form.Value["messaging_product"][0] != "whatsapp" || form.Value["type"][0] != c.kind ||
			form.File["file"][0].Header.Get("Content-Type") != c.kind || form.File["file"][0].Size != int64(len(c.f.Content)) {
			t.Errorf("%s: uploaded as %+v, %v", c.name, form, err)
		}
		if got := a.requests[1].body; len(a.requests) != 2 || !strings.Contains(got, c.want) {
			t.Errorf("%s: sent %s, want %s in it", c.name, got, c.want)
		}
	}
}

// SendFile makes two calls. Only the second call makes the message visible, so only a failure of the second call may
// be Uncertain.
func TestSendFileFails(t *testing.T) {
	t.Parallel()
	f := chat.File{Name: "a.txt", MediaType: "text/plain", Content: []byte("x")}
	a := connect(t, answer{status: 502})
	if _, err := a.SendFile(t.Context(), person(), chat.Outgoing{}, f); chat.AsSendError(err).Kind != chat.Temporary || len(a.requests) != 1 {
		t.Errorf("the upload: %v, %d calls", err, len(a.requests))
	}
	a = connect(t, answer{status: 200, body: `{"id":"77"}`}, answer{status: 502})
	if _, err := a.SendFile(t.Context(), person(), chat.Outgoing{}, f); chat.AsSendError(err).Kind != chat.Uncertain || len(a.requests) != 2 {
		t.Errorf("the message: %v, %d calls", err, len(a.requests))
	}
	a = connect(t, answer{status: 200, body: `{}`})
	if _, err := a.SendFile(t.Context(), person(), chat.Outgoing{}, f); chat.AsSendError(err).Kind != chat.Temporary || len(a.requests) != 1 {
		t.Errorf("an upload without an id: %v, %d calls", err, len(a.requests))
	}
}

// failing returns an error response of the API.
func failing(status, code, subcode int, message, details string) answer {
	body, _ := json.Marshal(map[string]any{"error": map[string]any{
		"message": message, "type": "OAuthException", "code": code, "error_subcode": subcode, "fbtrace_id": "x",
		"error_data": map[string]string{"messaging_product": "whatsapp", "details": details},
	}})
	return answer{status: status, body: string(body)}
}

// The error codes are listed at
// https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes
func TestClassify(t *testing.T) {
	t.Parallel()
	limited := func(scope chat.Scope, after time.Duration) chat.SendError {
		return chat.SendError{Kind: chat.RateLimited, Scope: scope, Ops: chat.OpSend | chat.OpFile, RetryAfter: after}
	}
	usage := failing(400, 80007, 0, "(#80007) Rate limit issues", "")
	usage.header = http.Header{"X-Business-Use-Case-Usage": {`{"102290129340398":[{"type":"whatsapp","call_count":100,"estimated_time_to_regain_access":19}]}`}}
	told := failing(429, codeThroughput, 0, "(#130429) Rate limit hit", "")
	told.header = http.Header{"Retry-After": {"7"}}
	for name, c := range map[string]struct {
		answer answer
		want   chat.SendError
	}{
		"pair rate":              {failing(400, codePair, 0, "(#131056) (Business Account, Consumer Account) pair rate limit hit", ""), limited(chat.ScopeChat, pairRetryAfter)},
		"throughput":             {failing(400, codeThroughput, 0, "(#130429) Rate limit hit", ""), limited(chat.ScopeEndpoint, throughputRetryAfter)},
		"throughput, with time":  {told, limited(chat.ScopeEndpoint, 7*time.Second)},
		"account":                {usage, limited(chat.ScopeEndpoint, 19*time.Minute)},
		"app":                    {failing(400, 4, 0, "(#4) API Too Many Calls", ""), limited(chat.ScopeEndpoint, accountRetryAfter)},
		"spam":                   {failing(400, codeSpam, 0, "(#131048) Spam rate limit hit", ""), limited(chat.ScopeEndpoint, accountRetryAfter)},
		"window":                 {failing(400, codeWindow, 0, "(#131047) Re-engagement message", "more than 24 hours have passed"), chat.SendError{Kind: chat.Forbidden}},
		"undeliverable":          {failing(400, 131026, 0, "(#131026) Message undeliverable", ""), chat.SendError{Kind: chat.Forbidden}},
		"payment":                {failing(400, 131042, 0, "(#131042) Business eligibility payment issue", ""), chat.SendError{Kind: chat.Forbidden}},
		"policy":                 {failing(403, 368, 0, "(#368) Temporarily blocked for policies violations", ""), chat.SendError{Kind: chat.Forbidden}},
		"expired token":          {failing(401, 190, 463, "Error validating access token", ""), chat.SendError{Kind: chat.Auth}},
		"permission":             {failing(403, 200, 0, "(#200) You do not have permission", ""), chat.SendError{Kind: chat.Auth}},
		"denied":                 {failing(403, 131005, 0, "(#131005) Access denied", ""), chat.SendError{Kind: chat.Auth}},
		"wrong number id":        {failing(400, 100, 33, "Unsupported post request. Object with ID '1' does not exist", ""), chat.SendError{Kind: chat.Auth}},
		"invalid parameter":      {failing(400, 100, 0, "(#100) Invalid parameter", ""), chat.SendError{Kind: chat.Rejected}},
		"too long":               {failing(400, 100, 0, "(#100) Param text['body'] must be at most 4096 characters long.", ""), chat.SendError{Kind: chat.TooLong}},
		"value":                  {failing(400, 131009, 0, "(#131009) Parameter value is not valid", ""), chat.SendError{Kind: chat.Rejected}},
		"something went wrong":   {failing(500, 131000, 0, "(#131000) Something went wrong", ""), chat.SendError{Kind: chat.Uncertain}},
		"unavailable":            {failing(503, 2, 0, "Service temporarily unavailable", ""), chat.SendError{Kind: chat.Uncertain}},
		"a code nobody knows":    {failing(400, 139999, 0, "odd", ""), chat.SendError{Kind: chat.Rejected}},
		"the same, by a failure": {failing(500, 139999, 0, "odd", ""), chat.SendError{Kind: chat.Uncertain}},
		"a proxy fails":          {answer{status: 502, body: "<html>"}, chat.SendError{Kind: chat.Uncertain}},
		"a proxy refuses":        {answer{status: 403, body: "<html>"}, chat.SendError{Kind: chat.Temporary}},
		"a proxy limits":         {answer{status: 429, header: http.Header{"Retry-After": {"3"}}}, chat.SendError{Kind: chat.RateLimited, Scope: chat.ScopeEndpoint, RetryAfter: 3 * time.Second}},
		"too large":              {answer{status: 413}, chat.SendError{Kind: chat.TooLong}},
		"success that is none":   {answer{status: 200, body: "<html>"}, chat.SendError{Kind: chat.Uncertain}},
	} {
		a := connect(t, c.answer)
		_, err := a.Send(t.Context(), person(), chat.Outgoing{Text: "x"})
		got := *chat.AsSendError(err)
		cause := got.Err
		got.Err = nil
		if !reflect.DeepEqual(got, c.want) || cause == nil {
			t.Errorf("%s: %+v, want %+v", name, err, c.want)
		}
	}
}

// In this test, a successful response lacks the id of the message. Even if the response lacks the id of the message,
// Send must report that the message was sent.
func TestSentWithoutID(t *testing.T) {
	t.Parallel()
	a := connect(t, answer{status: 200, body: `{"messaging_product":"whatsapp"}`})
	if r, err := a.Send(t.Context(), person(), chat.Outgoing{Text: "x"}); err != nil || r.Ref.ID != "" || r.Ref.Target != person() {
		t.Errorf("%+v, %v", r, err)
	}
}

// In this test, the API quotes secrets in its error message. No error of Send may contain a secret.
func TestErrorsHaveNoSecret(t *testing.T) {
	t.Parallel()
	a := connect(t, failing(401, 190, 0, "Malformed access token "+token, "and "+secret+" "+verify))
	_, err := a.Send(t.Context(), person(), chat.Outgoing{Text: "x"})
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(e.Error(), "hidden") {
			t.Errorf("the error shows a secret: %v", e)
		}
	}
}

// Typing must mark the newest message of the person as read, and show the typing indicator. If the bot remembers no
// message, Typing must request the phone number instead.
func TestTyping(t *testing.T) {
	t.Parallel()
	a := connect(t, answer{status: 200, body: `{"success":true,"id":"` + numberID + `","verified_name":"Telex"}`})
	if err := a.Typing(t.Context(), person()); err != nil || a.requests[0].method != http.MethodGet || a.Name() != "Telex" {
		t.Errorf("Typing = %v, %+v", err, a.requests)
	}
	a.newest.Put("US.13491208655302741918", "wamid.A")
	if err := a.Typing(t.Context(), person()); err != nil {
		t.Error(err)
	}
	const want = `{"message_id":"wamid.A","messaging_product":"whatsapp","status":"read","typing_indicator":{"type":"text"}}`
	if got := a.requests[1]; got.body != want || got.path != "/v26.0/"+numberID+"/messages" {
		t.Errorf("got %+v, want %s", got, want)
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	picture := chat.Attachment{ID: "1003383421387256"}
	place := func(url string) answer {
		return answer{status: 200, body: `{"messaging_product":"whatsapp","url":"` + url + `","mime_type":"image/jpeg","file_size":3,"id":"1003383421387256"}`}
	}
	a := connect(t, place(`https:\/\/lookaside.fbsbx.com\/whatsapp_business\/attachments\/?mid=1`), answer{status: 200, body: "jpg"})
	if got, err := a.Fetch(t.Context(), picture, 100); err != nil || string(got) != "jpg" {
		t.Errorf("Fetch = %q, %v", got, err)
	}
	if a.requests[0].path != "/v26.0/1003383421387256?phone_number_id="+numberID || a.requests[1].auth != "Bearer "+token {
		t.Errorf("requests %+v", a.requests)
	}
	for _, elsewhere := range []string{"https://evil.test/x", "http://lookaside.fbsbx.com/x", "https://fbsbx.com.evil.test/", "https://u@graph.test/", ""} {
		a := connect(t, place(elsewhere))
		if _, err := a.Fetch(t.Context(), picture, 100); chat.AsSendError(err).Kind != chat.Rejected || len(a.requests) != 1 {
			t.Errorf("%q: %v after %d requests: the token must not go there", elsewhere, err, len(a.requests))
		}
	}
	for name, c := range map[string]struct {
		id      string
		answers []answer
		want    chat.ErrorKind
	}{
		"no content":  {"", nil, chat.Gone},
		"a path":      {"../me", nil, chat.Gone},
		"expired":     {"1", []answer{failing(400, 100, 33, "Unsupported get request. Object with ID '1' does not exist", "")}, chat.Gone},
		"unavailable": {"1", []answer{failing(503, 2, 0, "Service temporarily unavailable", "")}, chat.Temporary},
		"token":       {"1", []answer{failing(401, 190, 0, "expired", "")}, chat.Auth},
		"gone":        {"1", []answer{place("https://graph.test/x"), {status: 404}}, chat.Gone},
	} {
		a := connect(t, c.answers...)
		if _, err := a.Fetch(t.Context(), chat.Attachment{ID: c.id}, 100); chat.AsSendError(err).Kind != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	a = connect(t, place("https://graph.test/x"), answer{status: 200, body: "jpg"})
	if _, err := a.Fetch(t.Context(), picture, 2); !errors.Is(err, chat.ErrTooLarge) {
		t.Errorf("a file beyond the limit: %v", err)
	}
}

func TestFetchIsCanceled(t *testing.T) {
	t.Parallel()
	conformance.GivenUp(t, func(ctx context.Context, through http.RoundTripper) ([]byte, error) {
		b := New(Options{AccessToken: token, PhoneNumberID: numberID, HTTP: roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "lookaside.fbsbx.com" {
				return through.RoundTrip(r)
			}
			body := io.NopCloser(strings.NewReader(`{"url":"https://lookaside.fbsbx.com/x"}`))
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: r}, nil
		})})
		defer b.Close()
		return b.Fetch(ctx, chat.Attachment{ID: "1"}, 100)
	})
}
