package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// apiKey is the key of the clients in these tests.
const apiKey = "telex-api-whole-process-0123456789"

// apiServer starts a daemon that is only an API server, and returns its address and the daemon.
func (w *world) apiServer(settings string, more ...string) (string, *process) {
	w.t.Helper()
	if settings == "" {
		settings = "keys: [{name: laptop, key: " + apiKey + "}]"
	}
	address := freeAddress(w.t)
	d := launch{}.start(w.t, "run", "--config", w.config(sections{
		platforms: "{api_server: {listen: \"" + address + "\", " + settings + "}}", streaming: "{enabled: true}", access: "{default: deny}", more: strings.Join(more, "\n"),
	}))
	return "http://" + d.awaitLog("listening", 1)[0].text("address"), d
}

// apiClient returns a client of the library go-openai that is connected to a daemon's API server.
func apiClient(address string) *goopenai.Client {
	c := goopenai.DefaultConfig(apiKey)
	c.BaseURL = address + "/v1"
	return goopenai.NewClientWithConfig(c)
}

func userSays(text string) []goopenai.ChatCompletionMessage {
	return []goopenai.ChatCompletionMessage{{Role: "user", Content: text}}
}

// streamed makes a streaming request to the API, and returns the joined text and the usage.
func streamed(ctx context.Context, c *goopenai.Client, r goopenai.ChatCompletionRequest) (text string, usage *goopenai.Usage, err error) {
	s, err := c.CreateChatCompletionStream(ctx, r)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for {
		e, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return text, usage, nil
		}
		if err != nil {
			return text, usage, err
		}
		for _, choice := range e.Choices {
			text += choice.Delta.Content
		}
		if e.Usage != nil {
			usage = e.Usage
		}
	}
}

// The test uses an independent client library for the daemon's API: models, streamed and complete answers, the client's
// own tools, usage, errors, and sessions.
func TestAPIServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 2000})
	address, d := w.apiServer("")
	c := apiClient(address)
	list, err := c.ListModels(t.Context())
	if err != nil || len(list.Models) != 1 || list.Models[0].ID != "main" {
		t.Fatalf("models: %+v, %v", list, err)
	}
	want := openai.Answer("Explain the tides")
	whole, err := c.CreateChatCompletion(t.Context(), goopenai.ChatCompletionRequest{Model: "main", Messages: userSays("Explain the tides")})
	if err != nil || whole.Choices[0].Message.Content != want || whole.Usage.CompletionTokens == 0 {
		t.Fatalf("got %+v, %v", whole, err)
	}
	text, usage, err := streamed(t.Context(), c, goopenai.ChatCompletionRequest{
		Model: "main", Messages: userSays("Explain the tides"), StreamOptions: &goopenai.StreamOptions{IncludeUsage: true},
	})
	if err != nil || text != want || usage == nil || usage.CompletionTokens != whole.Usage.CompletionTokens {
		t.Fatalf("streamed %d bytes, want %d; usage %+v, %v", len(text), len(want), usage, err)
	}
	called, err := c.CreateChatCompletion(t.Context(), goopenai.ChatCompletionRequest{
		Model: "main", Messages: userSays(`call: weather {"city":"Rome"}`),
		Tools: []goopenai.Tool{{Type: "function", Function: &goopenai.FunctionDefinition{Name: "weather", Parameters: map[string]any{"type": "object"}}}},
	})
	if err != nil || called.Choices[0].FinishReason != goopenai.FinishReasonToolCalls || called.Choices[0].Message.ToolCalls[0].Function.Arguments != `{"city":"Rome"}` {
		t.Fatalf("got %+v, %v", called, err)
	}
	answered, err := c.CreateChatCompletion(t.Context(), goopenai.ChatCompletionRequest{
		Model: "main", Messages: append(userSays(`call: weather {"city":"Rome"}`), called.Choices[0].Message,
			goopenai.ChatCompletionMessage{Role: "tool", ToolCallID: called.Choices[0].Message.ToolCalls[0].ID, Content: "rain"}),
		Tools: []goopenai.Tool{{Type: "function", Function: &goopenai.FunctionDefinition{Name: "weather", Parameters: map[string]any{"type": "object"}}}},
	})
	if err != nil || !strings.Contains(answered.Choices[0].Message.Content, "rain") {
		t.Fatalf("got %+v, %v", answered, err)
	}
	for model, status := range map[string]int{"other": 404, "main": 429} {
		_, err := c.CreateChatCompletion(t.Context(), goopenai.ChatCompletionRequest{Model: model, Messages: userSays("{{standin status=429 code=insufficient_quota}} say: no")})
		if e := (*goopenai.APIError)(nil); !errors.As(err, &e) || e.HTTPStatusCode != status || e.Message == "" {
			t.Errorf("%s: got %v, want status %d", model, err, status)
		}
	}
	for i, ask := range []string{"say: My cat is called Mia", "recall: 1"} {
		r, err := c.CreateChatCompletion(t.Context(), goopenai.ChatCompletionRequest{Model: "main", User: "ada", Messages: userSays(ask)})
		if err != nil || !strings.Contains(r.Choices[0].Message.Content, "Mia") {
			t.Fatalf("request %d of the session: %+v, %v", i, r, err)
		}
	}
	d.stop()
}

// The APIs Chat Completions and Responses convert documents to text for the model, as chats do. A scanned document has
// no text, so the model gets the file unchanged.
func TestAPIServerDocuments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 2000})
	address, d := w.apiServer("")
	file := func(name, kind string) (string, string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join("..", "..", "gateway", "attachment", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return name, "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
	}
	chat := func(name, data string) any {
		return map[string]any{"type": "file", "file": map[string]string{"filename": name, "file_data": data}}
	}
	item := func(name, data string) any {
		return map[string]string{"type": "input_file", "filename": name, "file_data": data}
	}
	const word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	for path, part := range map[string]func(name, data string) any{"/v1/chat/completions": chat, "/v1/responses": item} {
		question := "say: read by " + path
		said := []any{map[string]any{"role": "user", "content": []any{
			map[string]string{"type": map[bool]string{true: "input_text", false: "text"}[strings.HasSuffix(path, "responses")], "text": question},
			part(file("pandoc.docx", word)), part(file("abiword.pdf", "application/pdf")), part(file("scan.pdf", "application/pdf")),
		}}}
		body, err := json.Marshal(map[string]any{"model": "main", "messages": said, "input": said})
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+apiKey)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: got %d: %s, %v", path, res.StatusCode, answer, err)
		}
		asked := w.model.Requests()
		text, _ := lastUser(t, asked, question)
		for _, want := range []string{question, "[file: pandoc.docx]", "Tuesday | 13.1 m", "[file: abiword.pdf]", "Monday 12.9 m"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the model was not told %q: %s", path, want, text)
			}
		}
		if body := string(asked[len(asked)-1].Body); strings.Count(body, `"file_data"`) != 1 || !strings.Contains(body, "scan.pdf") {
			t.Errorf("%s: the model was not sent the scan, and nothing else", path)
		}
	}
	d.stop()
}

// Sessions and stored responses must survive when the daemon is killed.
func TestAPIServerKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 2000})
	address, d := w.apiServer("")
	ask := func(method, path, body, session string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+apiKey)
		if session != "" {
			r.Header.Set("X-Telex-Session", session)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: got %d: %s, %v", path, res.StatusCode, answer, err)
		}
		return string(answer)
	}
	ask(http.MethodPost, "/v1/chat/completions", `{"model":"main","messages":[{"role":"user","content":"say: My cat is called Mia"}]}`, "cats")
	stored := ask(http.MethodPost, "/v1/responses", `{"model":"main","input":"say: My dog is called Rex"}`, "")
	var response struct{ ID string }
	if err := json.Unmarshal([]byte(stored), &response); err != nil || response.ID == "" {
		t.Fatalf("%s: %v", stored, err)
	}
	http.DefaultClient.CloseIdleConnections()
	d.kill()
	d = d.again()
	d.awaitLog("listening", 1)
	if got := ask(http.MethodPost, "/v1/chat/completions", `{"model":"main","messages":[{"role":"user","content":"recall: 1"}]}`, "cats"); !strings.Contains(got, "Mia") {
		t.Errorf("the session: %s", got)
	}
	if got := ask(http.MethodGet, "/v1/responses/"+response.ID, "", ""); got != stored {
		t.Errorf("got %s, want %s", got, stored)
	}
	if got := ask(http.MethodPost, "/v1/responses", `{"model":"main","input":"recall: 1","previous_response_id":"`+response.ID+`"}`, ""); !strings.Contains(got, "Rex") {
		t.Errorf("behind the response: %s", got)
	}
	d.stop()
}

// The daemon is stopped while it answers a request. A daemon that is told to stop must complete the answer to a running
// API request, and refuse new requests.
func TestAPIServerStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 400})
	address, d := w.apiServer("")
	s, err := apiClient(address).CreateChatCompletionStream(t.Context(), goopenai.ChatCompletionRequest{Model: "main", Messages: userSays("words: 300")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	words := 0
	for {
		_, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("after %d words: %v", words, err)
		}
		if words++; words == 20 {
			d.signal(syscall.SIGTERM)
		}
	}
	if words < 290 {
		t.Errorf("got %d events, want the whole answer", words)
	}
	if code := d.exit(patience); code != 0 {
		t.Errorf("exit code %d", code)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/health", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := http.DefaultClient.Do(r); err == nil {
		_ = res.Body.Close()
		t.Error("the daemon that was stopped still answers")
	}
}

// Settings of the API server that would let anybody in must be an error in the configuration. `telex config show` must
// print no key.
func TestAPIServerConfig(t *testing.T) {
	t.Parallel()
	const head = "models: [{name: main, base_url: \"http://127.0.0.1:1\", model: m}]\nplatforms:\n  api_server:\n"
	p := launch{}.start(t, "config", "check", "--config", writeConfig(t, head+"    listen: 0.0.0.0:8642\n    keys: []\n"))
	if code := p.exit(patience); code != exitConfig || !strings.Contains(p.stderr.String(), "c.yaml:5:5: no keys in platforms.api_server") {
		t.Errorf("exit %d: %s", code, p.stderr)
	}
	p = launch{}.start(t, "config", "show", "--config", writeConfig(t, head+"    keys: ["+apiKey+", {name: laptop, key: "+apiKey+"2, tokens_per_day: 5}]\n"))
	if code := p.exit(patience); code != exitDone || !strings.Contains(p.stdout.String(), "name: laptop") || strings.Contains(p.stdout.String(), apiKey) {
		t.Errorf("exit %d: %s%s", code, p.stdout, p.stderr)
	}
}
