package chatcompletions

import (
	"encoding/json"
	"fmt"
	"strings"

	"telex/agent"
	"telex/agent/provider"
)

// chunk is one event of a streamed answer, or a whole unstreamed one: they differ only in
// whether a choice has a delta or a message. It is our own type, because go-openai's know
// only one of the two names of reasoning.
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
	ReasoningContent content     `json:"reasoning_content"` // DeepSeek and most others
	Reasoning        content     `json:"reasoning"`         // vLLM, OpenRouter, Ollama
	Refusal          string      `json:"refusal"`
	ToolCalls        []callDelta `json:"tool_calls"`
	ReasoningDetails blocks      `json:"reasoning_details"` // OpenRouter, to be given back
}

// blocks are a list of blocks of reasoning. What looks different is nothing that we know to give back.
type blocks []detail

// UnmarshalJSON takes a list of objects, or anything else as none.
func (b *blocks) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*[]detail)(b)) != nil {
		*b = nil
	}
	return nil
}

// callDelta is a piece of a tool call as providers send it.
type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string             `json:"name"`
		Arguments provider.Arguments `json:"arguments"`
	} `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"` // Gemini's signatures
}

// fragment returns the piece as the agent puts it together.
func (d callDelta) fragment() agent.CallFragment {
	f := agent.CallFragment{Index: d.Index, ID: d.ID, Name: d.Function.Name, Arguments: string(d.Function.Arguments)}
	if len(d.ExtraContent) > 0 && string(d.ExtraContent) != "null" {
		f.Extra = d.ExtraContent
	}
	return f
}

// content is a text that some servers send as a list of typed parts.
type content struct{ text, thinking string }

// UnmarshalJSON takes a string, null, or a list of parts; anything else is no text.
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

// consumer folds the chunks of one answer. It knows nothing of time or connections.
type consumer struct {
	model    string // that is asked
	calls    agent.CallBuffer
	details  details
	told     []agent.CallDelta // of the newest chunk
	learned  shape             // what else the provider sends and wants back
	usage    *provider.Usage
	finish   string
	finished bool // the provider said that the answer is at its end
	repeated repeated
}

// Take implements provider.Answer.
func (c *consumer) Take(event []byte, emit func(agent.Delta)) (ended bool, err error) {
	if text, ok := c.repeated.text(event); ok && !c.finished {
		emit(agent.Delta{Text: text})
		return false, nil
	}
	var k chunk
	if err := json.Unmarshal(event, &k); err != nil {
		return c.finished, fmt.Errorf("read an event: %w", err)
	}
	d := c.take(k)
	if d == (agent.Delta{Text: d.Text}) && len(c.told) == 0 && !c.finished {
		c.repeated.learn(event, d.Text)
	}
	emit(d)
	for i := range c.told {
		emit(agent.Delta{Call: &c.told[i]})
	}
	c.told = nil // which is the agent's now
	return c.finished, nil
}

// TakeWhole implements provider.Answer. A whole answer looks like an event.
func (c *consumer) TakeWhole(data []byte, emit func(agent.Delta)) (ended bool, err error) {
	return c.Take(data, emit)
}

// take folds one chunk and returns what it adds to the answer; empty for chunks that only
// carry usage, a role, a filter's verdict, or nothing. What it adds to calls is in told.
func (c *consumer) take(k chunk) agent.Delta {
	if k.Usage != nil {
		c.usage = k.Usage // some providers count up in every chunk: the last one is the sum
	}
	var d agent.Delta
	c.told = c.told[:0]
	for _, ch := range k.Choices {
		if ch.Index != 0 { // we ask for one answer
			continue
		}
		for _, a := range []*answer{ch.Delta, ch.Message} {
			if a != nil {
				c.fold(&d, a)
			}
		}
		switch ch.FinishReason {
		case "error", "insufficient_system_resource": // of OpenRouter and DeepSeek: the answer was cut
		case "", "null":
			c.finished = c.finished || ch.Message != nil // a whole answer is at its end
		default:
			c.finish, c.finished = ch.FinishReason, true
		}
	}
	return d
}

func (c *consumer) fold(d *agent.Delta, a *answer) {
	d.Text += a.Content.text
	d.Refusal += a.Refusal
	// Servers in transition send the same reasoning under both names.
	reasoning := a.ReasoningContent.text
	if reasoning == "" {
		reasoning = a.Reasoning.text
	}
	d.Reasoning += reasoning + a.Content.thinking
	if a.ReasoningContent.text != "" {
		c.learned |= wantsReasoning
	}
	c.details.add(a.ReasoningDetails)
	for _, call := range a.ToolCalls {
		f := call.fragment()
		if f.Extra != nil {
			c.learned |= wantsExtra
		}
		c.told = append(c.told, c.calls.Add(f))
	}
}

// Completion implements provider.Answer.
func (c *consumer) Completion() agent.Completion {
	calls := c.calls.Calls()
	c.keep(calls)
	return agent.Completion{ToolCalls: calls, Finish: finishOf(c.finish), Usage: c.Usage()}
}

// Learned implements provider.Answer.
func (c *consumer) Learned() shape {
	if len(c.details.blocks) > 0 {
		return c.learned | wantsExtra
	}
	return c.learned
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
