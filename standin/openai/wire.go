package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// chunk is one event of a streamed answer.
// https://platform.openai.com/docs/api-reference/chat/streaming
type chunk struct {
	ID                string          `json:"id"`
	Object            string          `json:"object"`
	Created           int64           `json:"created"`
	Model             string          `json:"model"`
	ServiceTier       string          `json:"service_tier"`
	SystemFingerprint string          `json:"system_fingerprint"`
	Choices           []choice        `json:"choices"`
	Usage             json.RawMessage `json:"usage,omitempty"` // the usage may be absent, null or an object
	Error             any             `json:"error,omitempty"`
	Obfuscation       string          `json:"obfuscation,omitempty"`
}

// choice is the only element of choices in a chunk.
type choice struct {
	Index        int            `json:"index"`
	Delta        map[string]any `json:"delta"`
	Logprobs     *struct{}      `json:"logprobs"`
	FinishReason *string        `json:"finish_reason"`
}

// wire writes server-sent events, with the line ends and spaces that the settings request. A wire flushes each event.
type wire struct {
	w                        http.ResponseWriter
	crlf, noSpace, multiline bool
}

// event writes one event. If unfinished is true, the method event leaves out the line ends after the event.
func (w wire) event(name string, data []byte, unfinished bool) {
	eol, field := "\n", "data: "
	if w.crlf {
		eol = "\r\n"
	}
	if w.noSpace {
		field = "data:"
	}
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + eol)
	}
	if w.multiline && json.Valid(data) {
		var indented bytes.Buffer
		// Indent can't fail, because data is valid JSON.
		_ = json.Indent(&indented, data, "", " ")
		data = indented.Bytes()
	}
	for i, l := range bytes.Split(data, []byte("\n")) {
		if i > 0 {
			b.WriteString(eol)
		}
		b.WriteString(field)
		b.Write(l)
	}
	if !unfinished {
		b.WriteString(eol + eol)
	}
	w.raw(b.Bytes())
}

// comment writes an SSE comment, a line that clients must ignore.
func (w wire) comment(text string) {
	eol := "\n"
	if w.crlf {
		eol = "\r\n"
	}
	w.raw([]byte(": " + text + eol + eol))
}

// raw writes bytes and flushes them to the client.
func (w wire) raw(b []byte) {
	if _, err := w.w.Write(b); err != nil {
		panic(&over{fmt.Errorf("write: %w", err)})
	}
	if err := http.NewResponseController(w.w).Flush(); err != nil {
		panic(&over{fmt.Errorf("flush: %w", err)})
	}
}
