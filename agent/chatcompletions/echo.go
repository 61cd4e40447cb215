package chatcompletions

import (
	"encoding/json"
	"strings"

	"telex/agent"
)

// echo is what else came with a call and goes back with it. It is kept in agent.ToolCall.Extra under a name of
// its own, so that no other model package takes it for its own.
type echo struct {
	Model   string          `json:"model,omitempty"`             // which it is of: no other can read it
	Content json.RawMessage `json:"extra_content,omitempty"`     // of the call: Gemini's signatures
	Details []detail        `json:"reasoning_details,omitempty"` // of the answer, kept with its first call: OpenRouter's
}

// extra returns what a call keeps; nil: nothing.
func (e echo) extra() json.RawMessage {
	if e.Content == nil && len(e.Details) == 0 {
		return nil
	}
	data, err := json.Marshal(map[string]echo{"chat_completions": e})
	if err != nil {
		return nil // it was read as JSON, so this can't be; and then the call is worth more
	}
	return data
}

// readEcho returns what goes back with a call to a model; nothing when it is another's. Before it had a name
// of its own, it was the call's extra_content alone.
func readEcho(extra json.RawMessage, model string) echo {
	var named map[string]json.RawMessage
	if len(extra) == 0 || json.Unmarshal(extra, &named) != nil {
		return echo{}
	}
	ours, ok := named["chat_completions"]
	if _, other := named["responses"]; !ok && !other {
		return echo{Content: extra}
	}
	var e echo
	if !ok || json.Unmarshal(ours, &e) != nil || e.Model != model {
		return echo{}
	}
	return e
}

// detail is a block of reasoning as OpenRouter tells it, whatever is in it.
type detail map[string]json.RawMessage

// maxDetails bounds the reasoning that is kept to be given back, in bytes.
const maxDetails = 1 << 20

// details puts the blocks of an answer's reasoning together. Streamed, they come in pieces: a signature that
// covers a text must come back with the whole of it
// (https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks,
// https://github.com/agno-agi/agno/pull/5802).
type details struct {
	blocks []*block
	size   int
}

// block is a block of which more may come.
type block struct {
	detail // but for its texts
	texts  map[string]*strings.Builder
}

// add takes pieces in the order in which they came.
func (d *details) add(pieces []detail) {
	for _, p := range pieces {
		if len(p) == 0 || d.size > maxDetails {
			continue
		}
		if !d.goesOn(p) {
			d.blocks = append(d.blocks, &block{detail: detail{}, texts: map[string]*strings.Builder{}})
		}
		d.size += d.blocks[len(d.blocks)-1].grow(p)
		if d.size > maxDetails { // a part of it is worth nothing
			d.blocks = nil
		}
	}
}

// goesOn reports whether a piece belongs to the newest block. Only texts come in pieces.
func (d *details) goesOn(p detail) bool {
	if len(d.blocks) == 0 || !p.has("text") && !p.has("summary") && !p.has("signature") {
		return false
	}
	last := d.blocks[len(d.blocks)-1]
	return string(last.detail["type"]) == string(p["type"]) && string(last.detail["index"]) == string(p["index"]) &&
		!last.has("signature") && !last.has("data")
}

// has reports whether there is something under a name.
func (d detail) has(name string) bool {
	value := string(d[name])
	return value != "" && value != "null" && value != `""`
}

// grow appends the texts of a piece, takes what else is in it, and returns by how many bytes it grew.
func (b *block) grow(p detail) int {
	size := 0
	for name, value := range p {
		var text string
		switch {
		case (name == "text" || name == "summary") && value[0] == '"' && json.Unmarshal(value, &text) == nil:
			if b.texts[name] == nil {
				b.texts[name] = &strings.Builder{}
			}
			b.texts[name].WriteString(text)
			size += len(text)
		case b.detail[name] == nil || p.has(name):
			size += len(value) - len(b.detail[name])
			b.detail[name] = value
		}
	}
	return size
}

// whole returns the blocks as they go back.
func (d *details) whole() []detail {
	var out []detail
	for _, b := range d.blocks {
		for name, text := range b.texts {
			if data, err := json.Marshal(text.String()); err == nil { // as it always is
				b.detail[name] = data
			}
		}
		out = append(out, b.detail)
	}
	return out
}

// keep puts what came with the calls of an answer into them.
func (c *consumer) keep(calls []agent.ToolCall) {
	for i := range calls {
		e := echo{Model: c.model, Content: calls[i].Extra}
		if i == 0 {
			e.Details = c.details.whole()
		}
		calls[i].Extra = e.extra()
	}
}
