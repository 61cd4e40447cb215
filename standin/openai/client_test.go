package openai_test

import (
	"errors"
	"io"
	"testing"

	gopenai "github.com/sashabaranov/go-openai" //nolint:depguard // Another author's client checks the wire format.

	"telex/standin/openai"
)

// sdk returns a client library by another author. Tests use the library to check whether the stand-in's wire format is
// correct.
func (p *provider) sdk(key string) *gopenai.Client {
	c := gopenai.DefaultConfig(key)
	c.BaseURL, c.HTTPClient = p.url+"/v1", p.client
	return gopenai.NewClientWithConfig(c)
}

func ask(text string) gopenai.ChatCompletionRequest {
	return gopenai.ChatCompletionRequest{
		Model: "standin", MaxCompletionTokens: 4000,
		Messages: []gopenai.ChatCompletionMessage{{Role: "system", Content: "be brief"}, {Role: "user", Content: text}},
	}
}

func TestClientLibrary(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{Key: "sk-test"})
	client := p.sdk("sk-test")
	models, err := client.ListModels(t.Context())
	if err != nil || len(models.Models) != 1 || models.Models[0].ID != "standin" {
		t.Errorf("models %+v, %v, want standin", models.Models, err)
	}
	whole, err := client.CreateChatCompletion(t.Context(), ask("Explain the tides"))
	if err != nil || whole.Choices[0].Message.Content != openai.Answer("Explain the tides") {
		t.Errorf("answer %+v, %v", whole.Choices, err)
	}
	req := ask("{{standin think=\"let me see\" cached=5}} say: **done**")
	req.StreamOptions = &gopenai.StreamOptions{IncludeUsage: true}
	stream, err := client.CreateChatCompletionStream(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	var content, reasoning, finish string
	var usage *gopenai.Usage
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Usage != nil {
			usage = chunk.Usage
		}
		for _, c := range chunk.Choices {
			content += c.Delta.Content
			reasoning += c.Delta.ReasoningContent
			finish += string(c.FinishReason)
		}
	}
	if content != "**done**" || reasoning != "let me see" || finish != "stop" {
		t.Errorf("content %q, reasoning %q, finish %q", content, reasoning, finish)
	}
	if usage == nil || usage.PromptTokensDetails.CachedTokens != 5 || usage.CompletionTokensDetails.ReasoningTokens != 3 {
		t.Errorf("usage %+v, want 5 cached and 3 for reasoning", usage)
	}
}

func TestClientLibraryErrors(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{Key: "sk-test"})
	for _, tc := range []struct {
		key, question string
		status        int
		code          any
	}{
		{"sk-nope", "x", 401, nil},
		{"sk-test", "{{standin status=429 code=insufficient_quota}} x", 429, "insufficient_quota"},
		{"sk-test", "{{standin status=500}} x", 500, nil},
	} {
		_, err := p.sdk(tc.key).CreateChatCompletionStream(t.Context(), ask(tc.question))
		got, ok := errors.AsType[*gopenai.APIError](err)
		if !ok || got.HTTPStatusCode != tc.status || tc.code != nil && got.Code != tc.code {
			t.Errorf("%s with %s: %v, want status %d, code %v", tc.question, tc.key, err, tc.status, tc.code)
		}
	}
}

func TestClientLibraryToolCalls(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	req := ask("call: weather {\"city\": \"Oslo\"}")
	req.Tools = []gopenai.Tool{{Type: "function", Function: &gopenai.FunctionDefinition{Name: "weather", Parameters: map[string]any{"type": "object"}}}}
	first, err := p.sdk("").CreateChatCompletion(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	made := first.Choices[0].Message
	if len(made.ToolCalls) != 1 || made.ToolCalls[0].Function.Arguments != `{"city": "Oslo"}` {
		t.Fatalf("calls %+v", made.ToolCalls)
	}
	req.Messages = append(req.Messages, made,
		gopenai.ChatCompletionMessage{Role: "tool", ToolCallID: made.ToolCalls[0].ID, Content: "snow"})
	second, err := p.sdk("").CreateChatCompletion(t.Context(), req)
	if want := "The tools answered:\n\n- weather: snow"; err != nil || second.Choices[0].Message.Content != want {
		t.Errorf("%+v, %v, want %q", second.Choices, err, want)
	}
}
