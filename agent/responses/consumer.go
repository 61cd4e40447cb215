package responses

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"telex/agent"
	"telex/agent/provider"
)

var errNoOutput = errors.New("the answer has no output")

// consumer collects the events of one answer. consumer handles neither timeouts nor connections.
type consumer struct {
	model             string // the requested model
	output            output
	lastTextItem      *item // the item whose text was emitted last
	lastReasoningItem *item // the item whose reasoning was emitted last
	finished          bool  // the provider reported the end of the answer
	finish            agent.Finish
	usage             *provider.Usage
	shapeHints        shape
}

// AddEvent implements provider.Answer.
func (c *consumer) AddEvent(event []byte, emit func(agent.Delta)) (ended bool, err error) {
	if c.finished {
		return true, nil
	}
	told := false
	err = c.handleEvent(event, func(d agent.Delta) {
		told = true
		emit(d)
	})
	if !told && err == nil {
		emit(agent.Delta{})
	}
	return c.finished, err
}

// handleEvent handles one event and emits what the event adds to the answer.
func (c *consumer) handleEvent(data []byte, tell func(agent.Delta)) error {
	e, err := readEvent(data)
	if err != nil {
		return err
	}
	switch e.Type {
	case "response.output_item.added":
		err = c.itemAdded(e, tell)
	case "response.output_item.done":
		err = c.itemDone(e, tell)
	case "response.output_text.delta":
		c.emitText(c.item(e, typeMessage), e.Delta, tell)
	case "response.refusal.delta":
		c.item(e, typeMessage).emitted = true
		tell(agent.Delta{Refusal: e.Delta})
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		c.emitReasoning(c.item(e, typeReasoning), e.Type, e.SummaryIndex, e.Delta, tell)
	case "response.function_call_arguments.delta":
		it := c.item(e, typeCall)
		it.arguments.WriteString(e.Delta)
		tell(it.call())
	case "response.function_call_arguments.done":
		it := c.item(e, typeCall)
		if it.setArguments(string(e.Arguments)) {
			tell(it.call())
		}
	case "response.completed", "response.incomplete", "response.failed":
		err = c.endAnswer(e.Response, strings.TrimPrefix(e.Type, "response."), tell)
	}
	return err
}

// item returns the item to which an event belongs. item finds the item by its id, or else by its place in the answer. If
// neither the id nor the place is known, item creates a new item.
func (c *consumer) item(e streamEvent, kind string) *item {
	if it := c.output.find(e.ItemID, kind, e.OutputIndex); it != nil {
		return it
	}
	return c.output.add(outputItem{ID: e.ItemID, Type: kind}, e.OutputIndex)
}

// itemAdded handles the event that announces an item.
func (c *consumer) itemAdded(e streamEvent, tell func(agent.Delta)) error {
	o, err := readItem(e.Item)
	if err != nil {
		return err
	}
	if it := c.output.add(o, e.OutputIndex); o.Type == typeCall {
		tell(it.call())
	}
	return nil
}

// itemDone handles the event that contains a finished item.
func (c *consumer) itemDone(e streamEvent, tell func(agent.Delta)) error {
	o, err := readItem(e.Item)
	if err != nil {
		return err
	}
	it := c.output.find(o.ID, o.Type, e.OutputIndex)
	if it == nil {
		it = c.output.add(outputItem{ID: o.ID, Type: o.Type}, e.OutputIndex)
	}
	c.finishItem(it, o, e.Item, tell)
	return nil
}

// finishItem handles a finished item, and emits those parts of the item that no earlier event contained.
func (c *consumer) finishItem(it *item, o outputItem, raw json.RawMessage, tell func(agent.Delta)) {
	if it.done {
		return
	}
	it.done, it.Status, it.Phase = true, o.Status, o.Phase
	if o.Phase != "" {
		c.shapeHints = wantsPhases
	}
	switch o.Type {
	case typeMessage:
		if !it.emitted {
			for _, p := range o.Content {
				c.emitText(it, p.Text, tell)
				if p.Refusal != "" {
					tell(agent.Delta{Refusal: p.Refusal})
				}
			}
		}
	case typeReasoning:
		it.raw = raw
		it.Content, it.Encrypted = o.Content, o.Encrypted
		c.emitWholeReasoning(it, o, tell)
	case typeCall:
		changed := o.CallID != "" && o.CallID != it.CallID || o.Name != "" && o.Name != it.Name
		if o.CallID != "" {
			it.CallID = o.CallID
		}
		if o.Name != "" {
			it.Name = o.Name
		}
		if it.setArguments(string(o.Arguments)) || changed {
			tell(it.call())
		}
	}
}

// emitWholeReasoning emits reasoning that arrived in one piece. Servers use several fields for such reasoning.
func (c *consumer) emitWholeReasoning(it *item, o outputItem, tell func(agent.Delta)) {
	if it.reasoning != "" {
		return
	}
	parts, kind := o.Summary, "summary"
	if len(parts) == 0 {
		parts, kind = o.Content, "content"
	}
	for i, p := range parts {
		c.emitReasoning(it, kind, i, p.Text, tell)
	}
}

// emitText emits text. An empty line separates the messages of an answer.
func (c *consumer) emitText(it *item, text string, tell func(agent.Delta)) {
	if text == "" {
		return
	}
	if c.lastTextItem != nil && c.lastTextItem != it {
		text = "\n\n" + text
	}
	c.lastTextItem, it.emitted = it, true
	tell(agent.Delta{Text: text})
}

// emitReasoning emits reasoning. An empty line separates the parts of a summary.
func (c *consumer) emitReasoning(it *item, kind string, part int, text string, tell func(agent.Delta)) {
	if it.reasoning == "" {
		it.reasoning = kind
	}
	if it.reasoning != kind || text == "" {
		return
	}
	if c.lastReasoningItem != nil && (c.lastReasoningItem != it || it.summary != part) {
		text = "\n\n" + text
	}
	c.lastReasoningItem, it.summary = it, part
	tell(agent.Delta{Reasoning: text})
}

// AddWhole implements provider.Answer.
func (c *consumer) AddWhole(data []byte, tell func(agent.Delta)) (ended bool, err error) {
	var r response
	if err := json.Unmarshal(data, &r); err != nil {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	if r.Output == nil {
		return false, errNoOutput
	}
	switch status := cmp.Or(r.Status, "completed"); status {
	case "completed", "incomplete", "failed":
		return true, c.endAnswer(r, status, tell)
	default:
		return false, fmt.Errorf("the answer is %s", status)
	}
}

// endAnswer handles the end of the answer, and emits those parts of the answer that no earlier event contained.
func (c *consumer) endAnswer(r response, status string, tell func(agent.Delta)) error {
	if r.Usage != nil {
		c.usage = r.Usage
	}
	if status == "failed" {
		if e := provider.ErrorOf(r.Error); e != nil {
			return e
		}
		return &provider.APIError{Message: "the provider ended the answer as failed"}
	}
	seen := map[string]int{} // number of items of each type so far
	for i, raw := range r.Output {
		o, err := readItem(raw)
		if err != nil {
			return err
		}
		it := c.output.nth(o.Type, seen[o.Type])
		seen[o.Type]++
		if it == nil {
			it = c.output.add(outputItem{ID: o.ID, Type: o.Type}, i)
		}
		c.finishItem(it, o, raw, tell)
	}
	if status == "incomplete" {
		c.finish = agent.FinishLength
		if r.Incomplete != nil && r.Incomplete.Reason == "content_filter" {
			c.finish = agent.FinishFiltered
		}
	}
	c.finished = true
	return nil
}

// Completion implements provider.Answer.
func (c *consumer) Completion() agent.Completion {
	return agent.Completion{ToolCalls: c.output.toolCalls(c.model, c.finish), Finish: c.finish, Usage: c.Usage()}
}

// ShapeHints implements provider.Answer.
func (c *consumer) ShapeHints() shape { return c.shapeHints }

// Usage implements provider.Answer.
func (c *consumer) Usage() *agent.Usage { return c.usage.Total() }
