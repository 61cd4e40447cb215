package apiserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"telex/agent"
)

// chunk is one event of a Chat Completions stream. The field usage exists only if the client requests the usage. The
// field usage is null in every chunk except the last one, which contains the usage of the whole answer.
type chunk struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"`
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []chunkChoice `json:"choices"`
	Usage   any           `json:"usage,omitempty"`
}

type chunkChoice struct {
	Index        int       `json:"index"`
	Delta        delta     `json:"delta"`
	LogProbs     *struct{} `json:"logprobs"`
	FinishReason *string   `json:"finish_reason"`
}

type delta struct {
	Role             string     `json:"role,omitempty"`
	Content          *string    `json:"content,omitempty"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	Refusal          string     `json:"refusal,omitempty"`
	ToolCalls        []chatCall `json:"tool_calls,omitempty"`
}

// chatStream writes an answer as chunks: the role, the pieces of the answer, the finish reason, the usage if the client
// requests it, and [DONE].
type chatStream struct {
	answerHead
	out   *reply
	index map[string]int // the index of each tool call, by the call's id
	// prefix and suffix are the JSON before and after the text of a chunk that contains only text. sendText reuses
	// them, because most chunks contain only text, and encoding each chunk as JSON would be slow.
	prefix, suffix string
}

func (s *chatStream) chunk(choices []chunkChoice, usage any) chunk {
	return chunk{ID: s.id, Object: "chat.completion.chunk", Created: s.created.Unix(), Model: s.query.model, Choices: choices, Usage: usage}
}

// noUsage returns the value of the field usage in every chunk except the last.
func (s *chatStream) noUsage() any {
	if s.query.usage {
		return json.RawMessage("null")
	}
	return nil
}

func (s *chatStream) sendDelta(d delta, finish *string) {
	s.out.event("", s.chunk([]chunkChoice{{Delta: d, FinishReason: finish}}, s.noUsage()))
}

// sendText writes a piece of the answer's text to the stream.
func (s *chatStream) sendText(piece string) {
	if !isPlain(piece) {
		s.sendDelta(delta{Content: &piece}, nil)
		return
	}
	if s.prefix == "" {
		const mark = "telex" // stands in for the text that will be inserted; no other value in a chunk may begin with "telex"
		text := mark
		data, err := json.Marshal(s.chunk([]chunkChoice{{Delta: delta{Content: &text}}}, s.noUsage()))
		if err != nil {
			panic(fmt.Errorf("encode a chunk: %w", err)) // encoding a chunk as JSON can't fail
		}
		key := `"content":"` + mark
		s.prefix, s.suffix, _ = strings.Cut(string(data), key)
		s.prefix += key[:len(key)-len(mark)]
	}
	s.out.event("", s.prefix+piece+s.suffix)
}

// isPlain reports whether a text contains only printable ASCII characters that JSON does not escape.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// begin implements streamer.
func (s *chatStream) begin() {
	empty := ""
	s.sendDelta(delta{Role: "assistant", Content: &empty}, nil)
}

// event implements streamer.
func (s *chatStream) event(e agent.Event, _ int, isNew bool) {
	switch e := e.(type) {
	case agent.Text:
		s.sendText(e.Delta)
	case agent.Reasoning:
		s.sendDelta(delta{ReasoningContent: e.Delta}, nil)
	case agent.Call:
		if isNew {
			s.index[e.ID] = len(s.index)
		}
		index := s.index[e.ID]
		piece := newChatCall(&index, "", "", e.Arguments)
		if isNew {
			piece = newChatCall(&index, e.ID, e.Name, e.Arguments)
		}
		s.sendDelta(delta{ToolCalls: []chatCall{piece}}, nil)
	}
}

// end implements streamer.
func (s *chatStream) end(o outcome) {
	if o.refusal != "" {
		s.sendDelta(delta{Refusal: o.refusal}, nil)
	}
	reason := finishReason(o.stop)
	s.sendDelta(delta{}, &reason)
	if s.query.usage {
		s.out.event("", s.chunk([]chunkChoice{}, newChatUsage(o.usage)))
	}
	s.out.event("", "[DONE]")
}

// fail implements streamer.
func (s *chatStream) fail(err *apiError) { s.out.event("", err.envelope()) }
