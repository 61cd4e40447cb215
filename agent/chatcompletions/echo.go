package chatcompletions

import (
	"encoding/json"
	"strings"

	"telex/agent"
)

// echo is provider data that came with a tool call and must be sent back together with the call. echo is stored in
// agent.ToolCall.Extra under its own key, so that other model packages ignore it.
type echo struct {
	Model   string          `json:"model,omitempty"`             // the model that sent the data; no other model can read it
	Content json.RawMessage `json:"extra_content,omitempty"`     // data of the call: Gemini's signatures
	Details []detail        `json:"reasoning_details,omitempty"` // data of the answer, stored with its first call: OpenRouter's reasoning
}

// extra returns the echo in the form in which it is stored with a call, or nil if the echo is empty.
func (e echo) extra() json.RawMessage {
	if e.Content == nil && len(e.Details) == 0 {
		return nil
	}
	data, err := json.Marshal(map[string]echo{"chat_completions": e})
	if err != nil {
		return nil // can't happen, since the parts were parsed from JSON
	}
	return data
}

// readEcho returns the data to send back with a call, or nothing if another model sent the data. Stores of older versions
// contain the call's extra_content without a key; readEcho accepts this form, too.
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

// detail is a block of reasoning as OpenRouter sends it. Its fields vary.
type detail map[string]json.RawMessage

// maxDetails is the maximum size, in bytes, of the reasoning that is kept and sent back.
const maxDetails = 1 << 20

// details joins the pieces in which the reasoning blocks of an answer are streamed. A signature covers the whole text of a
// block, so the whole text must be sent back
// (https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks,
// https://github.com/agno-agi/agno/pull/5802).
type details struct {
	blocks []*block
	size   int
}

// block is a block of reasoning that may still grow.
type block struct {
	detail // all fields except the texts
	texts  map[string]*strings.Builder
}

// add adds pieces in the order of their arrival.
func (d *details) add(pieces []detail) {
	for _, p := range pieces {
		if len(p) == 0 || d.size > maxDetails {
			continue
		}
		if !d.continues(p) {
			d.blocks = append(d.blocks, &block{detail: detail{}, texts: map[string]*strings.Builder{}})
		}
		d.size += d.blocks[len(d.blocks)-1].grow(p)
		if d.size > maxDetails { // drop all blocks, because an incomplete block is useless
			d.blocks = nil
		}
	}
}

// continues reports whether a piece belongs to the newest block. Of a reasoning block, only texts and signatures are streamed
// in pieces.
func (d *details) continues(p detail) bool {
	if len(d.blocks) == 0 || !p.has("text") && !p.has("summary") && !p.has("signature") {
		return false
	}
	last := d.blocks[len(d.blocks)-1]
	return string(last.detail["type"]) == string(p["type"]) && string(last.detail["index"]) == string(p["index"]) &&
		!last.has("signature") && !last.has("data")
}

// has reports whether the block has this field and the field is not empty.
func (d detail) has(name string) bool {
	value := string(d[name])
	return value != "" && value != "null" && value != `""`
}

// grow appends the texts of a piece, copies its other fields, and returns the number of bytes added.
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

// whole returns the complete blocks.
func (d *details) whole() []detail {
	var out []detail
	for _, b := range d.blocks {
		for name, text := range b.texts {
			if data, err := json.Marshal(text.String()); err == nil { // never fails
				b.detail[name] = data
			}
		}
		out = append(out, b.detail)
	}
	return out
}

// attachEcho adds to each call of an answer the data that must be sent back with the call.
func (c *consumer) attachEcho(calls []agent.ToolCall) {
	for i := range calls {
		e := echo{Model: c.model, Content: calls[i].Extra}
		if i == 0 {
			e.Details = c.details.whole()
		}
		calls[i].Extra = e.extra()
	}
}
