package openai_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"telex/standin/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// provider is a server on loopback, with a client for it.
type provider struct {
	*openai.Server
	t      *testing.T
	url    string
	client *http.Client
}

// start serves on loopback, without pauses unless the options name a rate.
func start(t *testing.T, o openai.Options) *provider {
	t.Helper()
	if o.Rate == 0 {
		o.Rate = -1
	}
	s := openai.New(o)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		web.Close()
	})
	return &provider{Server: s, t: t, url: web.URL, client: web.Client()}
}

// reply is the part of a response that the test could read.
type reply struct {
	status int
	header http.Header
	body   string
	err    error // error of the request or of reading the body
}

// post sends a body to a path.
func (p *provider) post(path, body string) reply {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return p.do(req)
}

func (p *provider) do(req *http.Request) reply {
	p.t.Helper()
	resp, err := p.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, header: resp.Header, body: string(body), err: err}
}

// ask sends a question and asks for a stream with usage.
func (p *provider) ask(question string) reply {
	p.t.Helper()
	return p.post("/v1/chat/completions", request(p.t, question, true))
}

// request is the body of a request with one message.
func request(t *testing.T, question string, stream bool) string {
	t.Helper()
	params := map[string]any{
		"model": "standin", "stream": stream, "messages": []any{map[string]any{"role": "user", "content": question}},
	}
	if stream {
		params["stream_options"] = map[string]any{"include_usage": true, "include_obfuscation": false}
	}
	b, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// heard is the content that a lenient client reads from a stream.
type heard struct {
	events, comments          int
	content, reasoning, other string
	refusal, finish           string
	calls                     []map[string]any // elements of tool_calls, in order
	usage                     map[string]any
	done                      bool
	errors                    []string
	ended                     bool // the last line ended with a line break
	empty, null               int  // number of chunks without choices, and of null deltas
}

// listen parses server-sent events as the standard says, without the code under test:
// https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation.
func listen(t *testing.T, body string) heard {
	t.Helper()
	h := heard{ended: strings.HasSuffix(body, "\n")}
	var data []string
	name := ""
	flush := func() {
		if len(data) > 0 {
			h.events++
			h.take(t, name, strings.Join(data, "\n"))
		}
		data, name = nil, ""
	}
	lines := bufio.NewScanner(strings.NewReader(body))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		field, value, _ := strings.Cut(strings.TrimSuffix(lines.Text(), "\r"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "" && value == "":
			flush()
		case field == "":
			h.comments++
		case field == "data":
			data = append(data, value)
		case field == "event":
			name = value
		default:
			t.Errorf("field %q in the stream, want data, event or a comment", field)
		}
	}
	flush()
	return h
}

// take handles one event.
func (h *heard) take(t *testing.T, name, data string) {
	t.Helper()
	if data == "[DONE]" {
		h.done = true
		return
	}
	var c struct {
		Object  string
		Message string
		Choices []struct {
			Delta *struct {
				Content, Refusal *string
				ReasoningContent string `json:"reasoning_content"`
				Reasoning        string
				ToolCalls        []map[string]any `json:"tool_calls"`
			}
			FinishReason *string `json:"finish_reason"`
		}
		Usage map[string]any
		Error *struct{ Message string }
	}
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		t.Fatalf("event %q: %v", data, err)
	}
	switch {
	case c.Error != nil:
		h.errors = append(h.errors, name+":"+c.Error.Message)
	case c.Object == "error":
		h.errors = append(h.errors, name+":"+c.Message)
	}
	if c.Usage != nil {
		h.usage = c.Usage
	}
	if len(c.Choices) == 0 {
		h.empty++
	}
	for _, choice := range c.Choices {
		if choice.FinishReason != nil {
			h.finish = *choice.FinishReason
		}
		if choice.Delta == nil {
			h.null++
			continue
		}
		if choice.Delta.Content != nil {
			h.content += *choice.Delta.Content
		}
		if choice.Delta.Refusal != nil {
			h.refusal += *choice.Delta.Refusal
		}
		h.reasoning += choice.Delta.ReasoningContent
		h.other += choice.Delta.Reasoning
		h.calls = append(h.calls, choice.Delta.ToolCalls...)
	}
}

// tokens returns the completion_tokens of the usage.
func (h *heard) tokens() int {
	n, _ := h.usage["completion_tokens"].(float64)
	return int(n)
}

// apiError decodes an error body.
func apiError(t *testing.T, body string) (message, kind, param, code string) {
	t.Helper()
	var e struct {
		Error struct {
			Message, Type string
			Param, Code   *string
		}
	}
	d := json.NewDecoder(bytes.NewReader([]byte(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		t.Fatalf("error body %q: %v", body, err)
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return e.Error.Message, e.Error.Type, text(e.Error.Param), text(e.Error.Code)
}

// last waits until no request is active, and returns the newest record.
func (p *provider) last() openai.Request {
	p.t.Helper()
	if !p.Wait(p.t.Context(), func(s openai.Stats) bool { return s.Active == 0 }) {
		p.t.Fatalf("stats %+v, want no active request", p.Stats())
	}
	list := p.Requests()
	if len(list) == 0 {
		p.t.Fatal("no request was recorded")
	}
	return list[len(list)-1]
}

// rule adds a rule.
func (p *provider) rule(r openai.Rule) {
	p.t.Helper()
	if err := p.Rule(r); err != nil {
		p.t.Fatal(err)
	}
}

// get makes a GET request for a path.
func (p *provider) get(ctx context.Context, path string) reply {
	p.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.do(req)
}
