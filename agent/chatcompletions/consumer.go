package chatcompletions

import (
	"encoding/json"
	"fmt"
	"strings"

	"telex/agent"
	"telex/agent/provider"
)

// chunk is one event of a streamed answer, or a whole answer. A choice of an event has a delta, and a choice of a whole answer
// has a message. telex has its own type, because servers use two names for the field of the reasoning, and go-openai's types
// lack one of these names.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   *provider.Usage `json:"usage"`
}

type choice struct {
	Index        int     `json:"index"`
	Delta        *answer `json:"delta"`
	Message      *answer `json:"message"`
	FinishReason string  `json:"finish_reason"`
}

type answer struct {
	Content          content     `json:"content"`
	ReasoningContent content     `json:"reasoning_content"` // the name that DeepSeek and most other servers use
	Reasoning        content     `json:"reasoning"`         // the name that vLLM, OpenRouter and Ollama use
	Refusal          string      `json:"refusal"`
	ToolCalls        []callDelta `json:"tool_calls"`
	ReasoningDetails blocks      `json:"reasoning_details"` // OpenRouter; must be sent back with tool calls
}

// blocks is a list of reasoning blocks.
type blocks []detail

// UnmarshalJSON accepts a list of objects, and treats anything else as an empty list.
func (b *blocks) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*[]detail)(b)) != nil {
		*b = nil
	}
	return nil
}

// callDelta is a piece of a tool call in the API's form.
type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string             `json:"name"`
		Arguments provider.Arguments `json:"arguments"`
	} `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"` // signatures that Gemini sends with a call
}

// fragment converts the piece of a tool call to the form of the package agent.
func (d callDelta) fragment() agent.CallFragment {
	f := agent.CallFragment{Index: d.Index, ID: d.ID, Name: d.Function.Name, Arguments: string(d.Function.Arguments)}
	if len(d.ExtraContent) > 0 && string(d.ExtraContent) != "null" {
		f.Extra = d.ExtraContent
	}
	return f
}

// content is a text that some servers send as a list of typed parts.
type content struct{ text, thinking string }

// UnmarshalJSON accepts a string, null, or a list of parts, and treats anything else as an empty text.
func (c *content) UnmarshalJSON(data []byte) error {
	*c = content{}
	switch data[0] {
	case '"':
		return json.Unmarshal(data, &c.text)
	case '[':
		var parts []struct {
			Type     string  `json:"type"`
			Text     string  `json:"text"`
			Thinking content `json:"thinking"`
		}
		if err := json.Unmarshal(data, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			c.text += p.Text
			c.thinking += p.Thinking.text
		}
	}
	return nil
}

// consumer collects the chunks of one answer. consumer handles neither timeouts nor connections.
type consumer struct {
	model      string // the requested model
	calls      agent.CallBuffer
	details    details
	callDeltas []agent.CallDelta // changes that the newest chunk made to calls
	shapeHints shape             // bits for fields that the provider sends, and wants back in later requests
	usage      *provider.Usage
	finish     string
	finished   bool // the provider reported the end of the answer
	repeated   repeated
}

// AddEvent implements provider.Answer.
func (c *consumer) AddEvent(event []byte, emit func(agent.Delta)) (ended bool, err error) {
	if text, ok := c.repeated.text(event); ok && !c.finished {
		emit(agent.Delta{Text: text})
		return false, nil
	}
	var k chunk
	if err := json.Unmarshal(event, &k); err != nil {
		return c.finished, fmt.Errorf("read an event: %w", err)
	}
	d := c.addChunk(k)
	if d == (agent.Delta{Text: d.Text}) && len(c.callDeltas) == 0 && !c.finished {
		c.repeated.remember(event, d.Text)
	}
	emit(d)
	for i := range c.callDeltas {
		emit(agent.Delta{Call: &c.callDeltas[i]})
	}
	c.callDeltas = nil // the receiver of the Delta may keep a pointer into the slice
	return c.finished, nil
}

// AddWhole implements provider.Answer. A whole answer has the form of an event.
func (c *consumer) AddWhole(data []byte, emit func(agent.Delta)) (ended bool, err error) {
	return c.AddEvent(data, emit)
}

// addChunk adds one chunk and returns what the chunk adds to the answer's text, reasoning and refusal. The result is empty if
// the chunk contains only usage, a role, or the verdict of a content filter. addChunk puts changes of tool calls into
// callDeltas.
func (c *consumer) addChunk(k chunk) agent.Delta {
	if k.Usage != nil {
		c.usage = k.Usage // some providers send the growing usage in every chunk
	}
	var d agent.Delta
	c.callDeltas = c.callDeltas[:0]
	for _, ch := range k.Choices {
		if ch.Index != 0 { // telex requests one answer only
			continue
		}
		for _, a := range []*answer{ch.Delta, ch.Message} {
			if a != nil {
				c.fold(&d, a)
			}
		}
		switch ch.FinishReason {
		case "error", "insufficient_system_resource": // OpenRouter and DeepSeek: the answer broke off
		case "", "null":
			c.finished = c.finished || ch.Message != nil // a whole answer is always complete
		default:
			c.finish, c.finished = ch.FinishReason, true
		}
	}
	return d
}

func (c *consumer) fold(d *agent.Delta, a *answer) {
	d.Text += a.Content.text
	d.Refusal += a.Refusal
	// Some servers that are changing the field's name send the reasoning under both names.
	reasoning := a.ReasoningContent.text
	if reasoning == "" {
		reasoning = a.Reasoning.text
	}
	d.Reasoning += reasoning + a.Content.thinking
	if a.ReasoningContent.text != "" {
		c.shapeHints |= wantsReasoning
	}
	c.details.add(a.ReasoningDetails)
	for _, call := range a.ToolCalls {
		f := call.fragment()
		if f.Extra != nil {
			c.shapeHints |= wantsExtra
		}
		c.callDeltas = append(c.callDeltas, c.calls.Add(f))
	}
}

// Completion implements provider.Answer.
func (c *consumer) Completion() agent.Completion {
	calls := c.calls.Calls()
	c.attachEcho(calls)
	return agent.Completion{ToolCalls: calls, Finish: finishOf(c.finish), Usage: c.Usage()}
}

// ShapeHints implements provider.Answer.
func (c *consumer) ShapeHints() shape {
	if len(c.details.blocks) > 0 {
		return c.shapeHints | wantsExtra
	}
	return c.shapeHints
}

// Usage implements provider.Answer.
func (c *consumer) Usage() *agent.Usage { return c.usage.Total() }

func finishOf(reason string) agent.Finish {
	switch strings.ToLower(reason) {
	case "length", "max_tokens", "max_output_tokens":
		return agent.FinishLength
	case "content_filter", "safety", "refusal":
		return agent.FinishFiltered
	default:
		return agent.FinishStop
	}
}
