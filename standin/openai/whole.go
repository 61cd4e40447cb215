package openai

import (
	"maps"
	"net/http"
	"strings"
	"time"
)

// completion is an answer that is not streamed. https://platform.openai.com/docs/api-reference/chat/object
type completion struct {
	ID                string        `json:"id"`
	Object            string        `json:"object"`
	Created           int64         `json:"created"`
	Model             string        `json:"model"`
	Choices           []wholeChoice `json:"choices"`
	Usage             *usage        `json:"usage,omitempty"`
	ServiceTier       string        `json:"service_tier"`
	SystemFingerprint string        `json:"system_fingerprint"`
}

type wholeChoice struct {
	Index        int            `json:"index"`
	Message      map[string]any `json:"message"`
	Logprobs     *struct{}      `json:"logprobs"`
	FinishReason *string        `json:"finish_reason"`
}

// isPlain reports whether the answer is a JSON document and not a stream of events.
func (r *Request) isPlain(b behaviour) bool {
	return b.as == "json" || b.as == "" && !r.Stream
}

// sendWhole waits as long as a stream of the answer would take. After the wait, sendWhole sends the answer as one JSON
// document.
func (x *exchange) sendWhole() {
	if x.b.commentInterval > 0 {
		// Send the status line now, because the empty lines during the wait belong to the body.
		x.begin(http.StatusOK, "application/json")
	}
	sent, length := x.p.tokens(), x.p.tokens()
	breaks := x.b.end.how != "" && x.b.end.after <= afterText
	if breaks {
		sent = min(sent, x.b.end.after)
	}
	wait := x.b.first
	if x.b.rate > 0 {
		wait += time.Duration(float64(sent) / x.b.rate * float64(time.Second))
	}
	if x.b.stallFor > 0 && x.b.stall < sent {
		wait += x.b.stallFor
	}
	x.pause(wait)
	if breaks && x.b.end.how == "hang" {
		x.breakOff()
	}
	if breaks && x.b.end.how == "fail" && !x.begun {
		x.b.status = http.StatusInternalServerError
		x.sendError()
	}
	body := mustJSON(x.out.whole())
	if !x.begun {
		x.begin(http.StatusOK, "application/json")
	}
	if breaks {
		// Send only a part of the document. After this part of the document, the connection breaks or the body ends.
		share := len(body)
		if length > 0 {
			share = len(body) * sent / (length + 1)
		}
		x.wire.raw(body[:share])
		x.breakOff()
	}
	x.wire.raw(body)
	for _, u := range x.p.units {
		x.mark(u)
	}
}

func (x completions) whole() any {
	m := map[string]any{"role": "assistant", "content": x.p.text, "refusal": nil, "annotations": []any{}}
	if x.p.refusal != "" {
		m["refusal"] = x.p.refusal
	}
	if x.p.text == "" && (x.p.refusal != "" || len(x.p.calls) > 0) {
		m["content"] = nil
	}
	if x.p.reasoning != "" {
		maps.Copy(m, reasoningFields(x.p.reasoning, x.b.thinkAs))
	}
	var calls []any
	for _, c := range x.p.calls {
		one := map[string]any{
			"id": c.id, "type": "function", "function": map[string]any{"name": c.name, "arguments": c.arguments},
		}
		if c.signature != "" {
			one["extra_content"] = map[string]any{"google": map[string]any{"thought_signature": c.signature}}
		}
		calls = append(calls, one)
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	c := completion{
		ID: x.chunk().ID, Object: "chat.completion", Created: x.rec.Time.Unix(), Model: x.req.Model,
		Choices:     []wholeChoice{{Message: m}},
		ServiceTier: "default", SystemFingerprint: "fp_standin",
	}
	if x.p.finish != "null" {
		c.Choices[0].FinishReason = &x.p.finish
	}
	if x.b.usage != "off" {
		c.Usage = &x.p.usage
	}
	return c
}

// padding returns n characters with which an event hides the length of its text.
func padding(n int) string {
	const letters = "k3J9xQ2mZ7pLw0RtB5vNcY8dHgF1sA4uEoTiXyWqPbVnMrKjCzDfGhSlU6"
	return strings.Repeat(letters, n/len(letters)+1)[:n]
}
