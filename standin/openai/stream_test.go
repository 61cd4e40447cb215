package openai_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"telex/standin/openai"
)

func TestStream(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	got := p.ask("Explain the tides")
	h := listen(t, got.body)
	want := openai.Answer("Explain the tides")
	if got.err != nil || h.content != want || h.finish != "stop" || !h.done || len(h.errors) > 0 {
		t.Fatalf("stream: %v, finish %q, done %v, errors %v, content\n%s\nwant\n%s", got.err, h.finish, h.done, h.errors, h.content, want)
	}
	if n := len(openai.Tokens(want)); h.tokens() != n || h.events != n+4 {
		t.Errorf("usage says %d tokens in %d events, want %d tokens, and role, finish, usage and [DONE]", h.tokens(), h.events, n)
	}
	for name, value := range map[string]string{
		"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache", "X-Accel-Buffering": "no",
	} {
		if v := got.header.Get(name); v != value {
			t.Errorf("header %s = %q, want %q", name, v, value)
		}
	}
	lines := strings.Split(got.body, "\n")
	if !strings.Contains(lines[0], `"delta":{"content":"","refusal":null,"role":"assistant"}`) {
		t.Errorf("first event %s, want the role", lines[0])
	}
	if again := p.ask("Explain the tides"); listen(t, again.body).content != want {
		t.Errorf("the same question got another answer")
	}
	if r := p.last(); r.End != openai.EndComplete || r.Sent != want || r.Tokens != h.tokens() || !r.Stream || r.Status != 200 {
		t.Errorf("record: end %q, status %d, %d tokens, stream %v, sent\n%s", r.End, r.Status, r.Tokens, r.Stream, r.Sent)
	}
}

// TestStreamVariants requests streams with each setting and reads them leniently. A good client must understand each of
// these variants of a stream.
func TestStreamVariants(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	type want struct {
		content, reasoning, other, refusal string
		finish                             string // expected finish_reason; "" means "stop", "-" means none
		comments                           int
		noUsage, notDone, unended          bool
		part                               string // part of the raw body
	}
	for _, tc := range []struct {
		question string
		want     want
	}{
		{"{{standin crlf}} say: one two", want{content: "one two", part: "}\r\n\r\ndata: [DONE]\r\n\r\n"}},
		{"{{standin nospace}} say: one", want{content: "one", part: "\n\ndata:[DONE]\n\n"}},
		{"{{standin multiline}} say: one", want{content: "one", part: "data: {\ndata:  \"id\""}},
		{"{{standin crlf multiline nospace}} say: one", want{content: "one", part: "data:{\r\ndata: \"id\""}},
		{"{{standin no_last_newline}} say: one", want{content: "one", unended: true, part: "data: [DONE]"}},
		{"{{standin comment_every=2 comment=\"OPENROUTER PROCESSING\"}} words: 5", want{content: "one two three four five", comments: 2, part: ": OPENROUTER PROCESSING\n\n"}},
		{"{{standin noise=1}} words: 4", want{content: "one two three four", part: `"choices":[{"index":0,"delta":null,`}},
		{"{{standin usage=off}} say: one", want{content: "one", noUsage: true}},
		{"{{standin usage=each}} say: one", want{content: "one", part: `"completion_tokens":0,`}},
		{"{{standin cached=3}} say: one", want{content: "one", part: `"cached_tokens":3`}},
		{"{{standin chunk=2}} words: 4", want{content: "one two three four", part: `{"content":" three four"}`}},
		{"{{standin empty}} anything", want{}},
		{"{{standin say=`exactly {{this}}`}} anything", want{content: "exactly {{this}}"}},
		{"{{standin finish=length}} say: one", want{content: "one", finish: "length"}},
		{"{{standin finish=content_filter empty}} x", want{finish: "content_filter"}},
		{"{{standin finish=null}} say: one", want{content: "one", finish: "-"}},
		{"{{standin finish=\"\"}} say: one", want{content: "one", finish: "-", part: `"finish_reason":""`}},
		{"{{standin refusal=\"I can't.\"}} x", want{refusal: "I can't.", part: `{"refusal":" can"}`}},
		{"{{standin think=\"let me see\"}} say: one", want{content: "one", reasoning: "let me see", part: `"reasoning_tokens":3`}},
		{"{{standin think=\"let me\" think_as=reasoning}} say: one", want{content: "one", other: "let me"}},
		{"{{standin think=\"let me\" think_as=both}} say: one", want{content: "one", other: "let me", reasoning: "let me"}},
		{"{{standin think=\"let me\" think_as=tags}} say: one", want{content: "<think>let me</think>\n\none", part: `{"content":"<"}`}},
		{"{{standin think=\"let me\" think_as=open_tag_missing}} say: one", want{content: "let me</think>\n\none"}},
		{"{{standin content_type=text/plain}} say: one", want{content: "one"}},
		{"{{standin eof=2}} words: 5", want{content: "one two", finish: "-", noUsage: true, notDone: true}},
		{"{{standin eof=0}} words: 5", want{finish: "-", noUsage: true, notDone: true}},
		{"{{standin eof=99}} words: 5", want{content: "one two three four five", finish: "-", noUsage: true, notDone: true}},
		{"{{standin eof=text}} words: 2", want{content: "one two", finish: "-", noUsage: true, notDone: true}},
		{"{{standin eof=finish}} words: 2", want{content: "one two", noUsage: true, notDone: true}},
		{"{{standin eof=usage}} words: 2", want{content: "one two", notDone: true}},
		{"{{standin eof=2 no_last_newline}} words: 5", want{content: "one two", finish: "-", noUsage: true, notDone: true, unended: true}},
		{"{{standin eof=usage usage=off no_last_newline}} words: 1", want{content: "one", noUsage: true, notDone: true, unended: true}},
	} {
		got := p.ask(tc.question)
		h := listen(t, got.body)
		w := tc.want
		switch w.finish {
		case "":
			w.finish = "stop"
		case "-":
			w.finish = ""
		}
		have := want{
			content: h.content, reasoning: h.reasoning, other: h.other, refusal: h.refusal, finish: h.finish, comments: h.comments,
			noUsage: h.usage == nil, notDone: !h.done, unended: !h.ended, part: w.part,
		}
		if got.err != nil || got.status != http.StatusOK || have != w || !strings.Contains(got.body, w.part) {
			t.Errorf("%s\n got %+v, %v\nwant %+v in\n%s", tc.question, have, got.err, w, got.body)
		}
	}
}

func TestStreamGigantic(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	got := p.ask("{{standin chunk=4000000}} length: 1048576")
	if h := listen(t, got.body); len(h.content) != 1<<20 || h.events != 5 {
		t.Errorf("got %d characters in %d events, want 1048576 in 5", len(h.content), h.events)
	}
}

// The provider reports an error after the first token (failures F08 and F09). The test checks several forms of such an
// error.
func TestStreamFails(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	for as, want := range map[string]struct{ event, finish, part string }{
		"openai":     {":over", "", "\ndata: {\"error\":{\"message\":\"over\""},
		"event":      {"error:over", "", "event: error\ndata: {\"error\":{"},
		"vllm":       {":over", "", `"object":"error"`},
		"openrouter": {":over", "error", `"finish_reason":"error"`},
	} {
		got := p.ask("{{standin fail=2 message=over fail_as=" + as + "}} words: 5")
		h := listen(t, got.body)
		if h.content != "one two" || len(h.errors) != 1 || h.errors[0] != want.event || h.finish != want.finish || h.done {
			t.Errorf("%s: %+v, want two words and the error %q", as, h, want.event)
		}
		if !strings.Contains(got.body, want.part) {
			t.Errorf("%s: body lacks %s:\n%s", as, want.part, got.body)
		}
		if r := p.last(); r.End != openai.EndFailed || r.Tokens != 2 || r.Sent != "one two" {
			t.Errorf("%s: record ends %q after %d tokens, %q", as, r.End, r.Tokens, r.Sent)
		}
	}
}

// The connection breaks during the stream (failure F09). The test checks how much of the answer arrives.
func TestStreamCut(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	for _, tc := range []struct{ where, content, finish string }{
		{"0", "", ""},
		{"3", "one two three", ""},
		{"text", "one two three four five", ""},
		{"finish", "one two three four five", "stop"},
		{"usage", "one two three four five", "stop"},
	} {
		got := p.ask("{{standin cut=" + tc.where + "}} words: 5")
		h := listen(t, got.body)
		if !errors.Is(got.err, io.ErrUnexpectedEOF) || h.content != tc.content || h.finish != tc.finish || h.done {
			t.Errorf("cut=%s: %v, content %q, finish %q, done %v, want %v, %q, %q", tc.where, got.err, h.content, h.finish, h.done,
				io.ErrUnexpectedEOF, tc.content, tc.finish)
		}
		if r := p.last(); r.End != openai.EndCut {
			t.Errorf("cut=%s: record ends %q, want %q", tc.where, r.End, openai.EndCut)
		}
	}
	if got := p.ask("{{standin cut=start}} words: 5"); !errors.Is(got.err, io.EOF) {
		t.Errorf("cut=start: %v, status %d, want %v", got.err, got.status, io.EOF)
	}
}

func TestErrorAnswers(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	for _, tc := range []struct {
		do         string
		status     int
		kind, code string
		header     map[string]string
		page       bool
	}{
		{do: "status=400", status: 400, kind: "invalid_request_error"},
		{do: "status=401", status: 401, kind: "invalid_request_error", code: "invalid_api_key"},
		{do: "status=403", status: 403, kind: "request_forbidden", code: "unsupported_country_region_territory"},
		{do: "status=404", status: 404, kind: "invalid_request_error", code: "model_not_found"},
		{do: "status=408", status: 408, kind: "invalid_request_error", code: "request_timeout"},
		{do: "status=409", status: 409, kind: "invalid_request_error", code: "conflict"},
		{do: "status=429 retry_after=2", status: 429, kind: "requests", code: "rate_limit_exceeded", header: map[string]string{"Retry-After": "2"}},
		{do: "status=429 retry_after_ms=1500", status: 429, kind: "requests", code: "rate_limit_exceeded", header: map[string]string{"Retry-After-Ms": "1500"}},
		{do: "status=429 code=insufficient_quota should_retry=false", status: 429, kind: "insufficient_quota", code: "insufficient_quota", header: map[string]string{"X-Should-Retry": "false"}},
		{do: "status=500 message=oops", status: 500, kind: "server_error"},
		{do: "status=502", status: 502, page: true},
		{do: "status=503 body=json", status: 503, kind: "server_error"},
		{do: "status=503", status: 503, page: true},
	} {
		got := p.ask("{{standin " + tc.do + "}} x")
		if got.err != nil || got.status != tc.status {
			t.Errorf("%s: status %d, %v", tc.do, got.status, got.err)
			continue
		}
		for name, value := range tc.header {
			if v := got.header.Get(name); v != value {
				t.Errorf("%s: header %s = %q, want %q", tc.do, name, v, value)
			}
		}
		if tc.page {
			if !strings.HasPrefix(got.body, "<html>") || got.header.Get("Content-Type") != "text/html" {
				t.Errorf("%s: body %q as %q, want a page", tc.do, got.body, got.header.Get("Content-Type"))
			}
			continue
		}
		if _, kind, _, code := apiError(t, got.body); kind != tc.kind || code != tc.code {
			t.Errorf("%s: type %q, code %q, want %q, %q", tc.do, kind, code, tc.kind, tc.code)
		}
		if r := p.last(); r.End != openai.EndRefused || r.Status != tc.status || r.Tokens != 0 {
			t.Errorf("%s: record ends %q, status %d", tc.do, r.End, r.Status)
		}
	}
	if got := p.ask("{{standin status=500 body=empty}} x"); got.status != 500 || got.body != "" {
		t.Errorf("empty body: %d %q", got.status, got.body)
	}
	if got := p.ask("{{standin as=html}} x"); got.status != 200 || !strings.HasPrefix(got.body, "<html>") {
		t.Errorf("as=html: %d %q, want a page", got.status, got.body)
	}
	if got := p.ask("{{standin as=json}} say: x"); got.header.Get("Content-Type") != "application/json" || !strings.Contains(got.body, `"object":"chat.completion"`) {
		t.Errorf("as=json: %q %q", got.header.Get("Content-Type"), got.body)
	}
}

func TestStreamPadding(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	body := func(options string) string {
		return `{"model":"standin","stream":true,"stream_options":` + options + `,"messages":[{"role":"user","content":"{{standin pad=1048576}} say: x"}]}`
	}
	got := p.post("/v1/chat/completions", body(`{}`))
	longest := 0
	for line := range strings.Lines(got.body) {
		longest = max(longest, len(line))
	}
	if h := listen(t, got.body); longest < 1<<20 || h.content != "x" || h.usage != nil {
		t.Errorf("longest line %d, content %q, usage %v, want over a megabyte, x and none", longest, h.content, h.usage)
	}
	if got := p.post("/v1/chat/completions", body(`{"include_obfuscation":false}`)); strings.Contains(got.body, "obfuscation") {
		t.Errorf("obfuscation was sent though refused:\n%.300s", got.body)
	}
}

func TestStreamNoise(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	h := listen(t, p.ask("{{standin noise=2}} say: a b c d e f g h i j k l").body)
	// There are six meaningless chunks, two of each kind. The chunk with the usage at the end also has no choices.
	if h.empty != 5 || h.null != 2 || h.content != "a b c d e f g h i j k l" || h.tokens() != 12 {
		t.Errorf("%d chunks without choices, %d null deltas, content %q, %d tokens, want 5, 2, all and 12", h.empty, h.null, h.content, h.tokens())
	}
}
