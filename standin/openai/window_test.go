package openai_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"telex/standin/openai"
)

// serveOne handles one request without a network.
func serveOne(s *openai.Server, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	s.ServeHTTP(w, r)
	return w
}

// TestContextWindow uses the text "one two", which has two tokens. Each message costs four tokens in addition to its
// text.
func TestContextWindow(t *testing.T) {
	t.Parallel()
	const (
		message = `{"model":"standin","messages":[{"role":"user","content":"one two"}]`
		tools   = `,"tools":[{"type":"function","function":{"name":"now","description":"The time","parameters":{}}}]`
	)
	for _, tc := range []struct{ name, do, body, want string }{
		{"fits exactly", "context=16 say=x", message + `,"max_tokens":10}`, ""},
		{
			"one too many", "context=15", message + `,"max_tokens":10}`,
			"This model's maximum context length is 15 tokens. However, you requested 16 tokens (6 in the messages, 10 in the completion). " +
				"Please reduce the length of the messages or completion.",
		},
		{"the newer name", "context=15", message + `,"max_completion_tokens":10}`, "(6 in the messages, 10 in the completion)"},
		{
			"no limit of output", "context=5", message + `}`,
			"This model's maximum context length is 5 tokens. However, your messages resulted in 6 tokens. Please reduce the length of the messages.",
		},
		{"tools count", "context=19", message + tools + `,"max_tokens":5}`, "(6 in the messages, 9 in the functions, and 5 in the completion)"},
		{"tools without a limit", "context=14", message + tools + `}`, "your messages resulted in 15 tokens (6 in the messages, 9 in the functions)"},
		{"another count", "context=16 token_factor=1.4", message + `,"max_tokens":10}`, "(9 in the messages, 10 in the completion)"},
		{"without end", "context=0 say=x", message + `,"max_tokens":1000000}`, ""},
	} {
		p := start(t, openai.Options{Context: 3})
		p.rule(openai.Rule{Do: tc.do})
		got := p.post("/v1/chat/completions", tc.body)
		if tc.want == "" {
			if got.status != 200 {
				t.Errorf("%s: %d, want 200: %s", tc.name, got.status, got.body)
			}
			continue
		}
		text, kind, param, code := apiError(t, got.body)
		if got.status != 400 || kind != "invalid_request_error" || param != "messages" || code != "context_length_exceeded" || !strings.Contains(text, tc.want) {
			t.Errorf("%s: %d, %s, param %q, code %q, %q, want %q", tc.name, got.status, kind, param, code, text, tc.want)
		}
	}
}

func TestContextPerModel(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{Models: []string{"small", "large"}, Context: 100_000, Contexts: map[string]int{"small": 50}})
	for model, want := range map[string]int{"small": 400, "large": 200} {
		body := fmt.Sprintf(`{"model":%q,"max_tokens":100,"messages":[{"role":"user","content":"say: x"}]}`, model)
		if got := p.post("/v1/chat/completions", body); got.status != want {
			t.Errorf("%s: status %d, want %d", model, got.status, want)
		}
	}
}

// In this test, the answer fills the context window. The test checks that the answer ends at the end of the window,
// with the reason "length".
func TestWindowEndsAnswer(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{Context: 20})
	h := listen(t, p.ask("words: 50").body) // the prompt uses 3 tokens and 4 for the message, so 13 are left
	if h.finish != "length" || h.tokens() != 13 || h.usage["prompt_tokens"] != 7.0 {
		t.Errorf("finish %q, usage %v, want length and 13 after 7", h.finish, h.usage)
	}
}

// TestImagesCount uses the published example: an image of 1024 x 1024 costs 765 tokens, or 85 with low detail.
func TestImagesCount(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	url := dataURL("png", drawn(t, "png", 1024, 1024))
	for part, want := range map[string]string{
		imagePart(url): `"prompt_tokens":772,`, // 765 tokens for the image, 4 for the message and 3 for "say: x"
		`{"type":"image_url","image_url":{"url":"` + url + `","detail":"low"}}`: `"prompt_tokens":92,`,
	} {
		if got := p.see("say: x", part); !strings.Contains(got.body, want) {
			t.Errorf("usage lacks %s: %s", want, got.body)
		}
	}
}

func TestTokenFactorShowsInUsage(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	p.rule(openai.Rule{Do: "token_factor=1.5"})
	h := listen(t, p.ask("one two").body)
	if h.usage["prompt_tokens"] != 9.0 {
		t.Errorf("usage %v, want 9 for the prompt", h.usage)
	}
	for _, bad := range []string{"token_factor=0", "token_factor=x", "token_factor=NaN", "context=-1", "context"} {
		if err := p.Rule(openai.Rule{Do: bad}); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	const talk = `{"model":"standin","max_tokens":%d,"messages":[` +
		`{"role":"system","content":"Be brief. Remember to be polite!\nAn earlier summary:\n- Remember the code 4711."},` +
		`{"role":"user","content":"Hello. My name is Ada! I like tea."},{"role":"assistant","content":"Hi Ada."},` +
		`{"role":"user","content":[{"type":"text","text":"my name is ada!\nPlease remember the code 4711"}]},` +
		`{"role":"user","content":"Summarize the conversation so far."}]}`
	const want = "Summary of the conversation so far.\n\n- Remember to be polite!\n- Remember the code 4711.\n- My name is Ada!\n" +
		"- Please remember the code 4711\n\nThe rest, 6 sentences in 5 messages, was small talk."
	if got := said(t, p.post("/v1/chat/completions", fmt.Sprintf(talk, 1000))); got != want {
		t.Errorf("summary\n%s\nwant\n%s", got, want)
	}
	short := said(t, p.post("/v1/chat/completions", fmt.Sprintf(talk, 12)))
	if !strings.HasPrefix(want, short) || len(openai.Tokens(short)) != 12 {
		t.Errorf("summary in 12 tokens: %q", short)
	}
	// A summary of a summary keeps the same facts.
	again := openai.Answer("Summarize this:\n" + want)
	for _, fact := range []string{"\n- Remember the code 4711.\n", "\n- My name is Ada!\n"} {
		if strings.Count(again, fact) != 1 {
			t.Errorf("the second summary lacks %q:\n%s", fact, again)
		}
	}
	if got := openai.Answer("summarise nothing"); !strings.Contains(got, "The rest, 1 sentences in 1 messages") {
		t.Errorf("nothing to keep: %q", got)
	}
}
