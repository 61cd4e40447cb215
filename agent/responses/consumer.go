package responses

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"telex/agent"
	"telex/agent/provider"
)

var errNoOutput = errors.New("the answer has no output")

// streamEvent is what we read of an event. Responses and items are read where they matter.
type streamEvent struct {
	Type         string          `json:"type"`
	ItemID       string          `json:"item_id"`
	OutputIndex  int             `json:"output_index"`
	SummaryIndex int             `json:"summary_index"`
	Delta        string          `json:"delta"`
	Arguments    string          `json:"arguments"`
	Item         json.RawMessage `json:"item"`
	Response     json.RawMessage `json:"response"`
}

// response is a whole answer, or its state at an event.
type response struct {
	Status     string            `json:"status"`
	Error      json.RawMessage   `json:"error"`
	Incomplete *incomplete       `json:"incomplete_details"`
	Output     []json.RawMessage `json:"output"`
	Usage      *usage            `json:"usage"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

// outputItem is what we read of an item.
type outputItem struct {
	ID        string     `json:"id"`
	Type      string     `json:"type"`
	Status    string     `json:"status"`
	Phase     string     `json:"phase"`
	CallID    string     `json:"call_id"`
	Name      string     `json:"name"`
	Arguments string     `json:"arguments"`
	Content   []textPart `json:"content"`
	Summary   []textPart `json:"summary"`
	Encrypted string     `json:"encrypted_content"`
}

type textPart struct {
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

type usage struct {
	Input        int `json:"input_tokens"`
	Output       int `json:"output_tokens"`
	InputDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func (u *usage) total() *agent.Usage {
	if u == nil || u.Input == 0 && u.Output == 0 {
		return nil
	}
	return &agent.Usage{Prompt: u.Input, Cached: u.InputDetails.Cached, Completion: u.Output, Reasoning: u.OutputDetails.Reasoning}
}

// consumer folds the events of one answer. It knows nothing of time or connections.
type consumer struct {
	model    string // that is asked
	items    []*item
	calls    int
	written  *item // whose text was told last
	thought  *item // whose reasoning was told last
	finished bool  // the provider said that the answer is at its end
	finish   agent.Finish
	usage    *usage
	phased   bool // the model says which messages are remarks on the way
}

// item is one item of the answer.
type item struct {
	outputItem
	index     int
	done      bool
	raw       json.RawMessage // of finished reasoning
	told      bool            // some text or refusal of it
	summary   int             // the part of the reasoning's summary that was told last
	reasoning string          // the kind of event by which the reasoning is told; others say the same once more
	position  int             // of a call among the calls
	arguments strings.Builder // of a call
}

// take folds one event and tells emit what it adds to the answer, or that it adds nothing.
func (c *consumer) take(data []byte, emit func(agent.Delta)) error {
	if d, ok := readPlain(data); ok && d.text != "" {
		it := c.written
		if it == nil || it.ID != string(d.itemID) || len(d.itemID) == 0 {
			it = c.item(streamEvent{ItemID: string(d.itemID), OutputIndex: d.index}, typeMessage)
		}
		c.say(it, d.text, emit)
		return nil
	}
	e, err := readEvent(data)
	if err != nil {
		return err
	}
	told := false
	tell := func(d agent.Delta) {
		told = true
		emit(d)
	}
	switch e.Type {
	case "response.output_item.added":
		err = c.added(e, tell)
	case "response.output_item.done":
		err = c.done(e, tell)
	case "response.output_text.delta":
		c.say(c.item(e, typeMessage), e.Delta, tell)
	case "response.refusal.delta":
		c.item(e, typeMessage).told = true
		tell(agent.Delta{Refusal: e.Delta})
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		c.think(c.item(e, typeReasoning), e.Type, e.SummaryIndex, e.Delta, tell)
	case "response.function_call_arguments.delta":
		it := c.item(e, typeCall)
		it.arguments.WriteString(e.Delta)
		tell(it.call())
	case "response.function_call_arguments.done":
		it := c.item(e, typeCall)
		if it.setArguments(e.Arguments) {
			tell(it.call())
		}
	case "response.completed", "response.incomplete", "response.failed":
		err = c.end(e.Response, strings.TrimPrefix(e.Type, "response."), tell)
	}
	if !told && err == nil {
		emit(agent.Delta{})
	}
	return err
}

// readEvent reads an event. One of a type that we don't know may look as it likes.
func readEvent(data []byte) (streamEvent, error) {
	var e streamEvent
	err := json.Unmarshal(data, &e)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		var named struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(data, &named) == nil && !known(named.Type) {
			return streamEvent{Type: named.Type}, nil
		}
	}
	if err != nil {
		return e, fmt.Errorf("read an event: %w", err)
	}
	return e, nil
}

// known says whether take has a use for events of a type.
func known(name string) bool {
	switch name {
	case "response.output_item.added", "response.output_item.done", "response.output_text.delta", "response.refusal.delta",
		"response.reasoning_summary_text.delta", "response.reasoning_text.delta", "response.function_call_arguments.delta",
		"response.function_call_arguments.done", "response.completed", "response.incomplete", "response.failed":
		return true
	}
	return false
}

// item returns the item that an event is about: by its id, else by its place. Where neither was
// announced, it begins here.
func (c *consumer) item(e streamEvent, kind string) *item {
	if it := c.find(e.ItemID, kind, e.OutputIndex); it != nil {
		return it
	}
	return c.add(outputItem{ID: e.ItemID, Type: kind}, e.OutputIndex)
}

// find returns the item of that id, else the newest one of that kind in that place, else the newest one
// of that kind that has not ended; nil: there is none. Servers in between make up ids and places.
func (c *consumer) find(id, kind string, index int) *item {
	var there, open *item
	for _, it := range c.items {
		switch {
		case it.Type != kind:
		case id != "" && it.ID == id:
			return it
		case it.index == index:
			there = it
		case !it.done:
			open = it
		}
	}
	return cmp.Or(there, open)
}

func (c *consumer) add(o outputItem, index int) *item {
	it := &item{outputItem: o, index: index, summary: -1}
	if o.Type == typeCall {
		it.position = c.calls
		c.calls++
		it.arguments.WriteString(o.Arguments)
	}
	c.items = append(c.items, it)
	return it
}

// readItem reads an item. One of a type that we don't know may look as it likes.
func readItem(raw json.RawMessage) (outputItem, error) {
	var o outputItem
	err := json.Unmarshal(raw, &o)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		var named struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &named) == nil && named.Type != typeMessage && named.Type != typeCall && named.Type != typeReasoning {
			return outputItem{Type: named.Type}, nil
		}
	}
	if err != nil {
		return o, fmt.Errorf("read an item: %w", err)
	}
	return o, nil
}

// added takes the announcement of an item.
func (c *consumer) added(e streamEvent, tell func(agent.Delta)) error {
	o, err := readItem(e.Item)
	if err != nil {
		return err
	}
	if it := c.add(o, e.OutputIndex); o.Type == typeCall {
		tell(it.call())
	}
	return nil
}

// done takes a finished item.
func (c *consumer) done(e streamEvent, tell func(agent.Delta)) error {
	o, err := readItem(e.Item)
	if err != nil {
		return err
	}
	it := c.find(o.ID, o.Type, e.OutputIndex)
	if it == nil {
		it = c.add(outputItem{ID: o.ID, Type: o.Type}, e.OutputIndex)
	}
	c.finishItem(it, o, e.Item, tell)
	return nil
}

// finishItem takes a finished item, and tells of it what no event told before.
func (c *consumer) finishItem(it *item, o outputItem, raw json.RawMessage, tell func(agent.Delta)) {
	if it.done {
		return
	}
	it.done, it.Status, it.Phase = true, o.Status, o.Phase
	c.phased = c.phased || o.Phase != ""
	switch o.Type {
	case typeMessage:
		if !it.told {
			for _, p := range o.Content {
				c.say(it, p.Text, tell)
				if p.Refusal != "" {
					tell(agent.Delta{Refusal: p.Refusal})
				}
			}
		}
	case typeReasoning:
		it.raw = raw
		it.Content, it.Encrypted = o.Content, o.Encrypted
		c.tellReasoning(it, o, tell)
	case typeCall:
		changed := o.CallID != "" && o.CallID != it.CallID || o.Name != "" && o.Name != it.Name
		if o.CallID != "" {
			it.CallID = o.CallID
		}
		if o.Name != "" {
			it.Name = o.Name
		}
		if it.setArguments(o.Arguments) || changed {
			tell(it.call())
		}
	}
}

// tellReasoning tells reasoning that came whole, under one of its names.
func (c *consumer) tellReasoning(it *item, o outputItem, tell func(agent.Delta)) {
	if it.reasoning != "" {
		return
	}
	parts, kind := o.Summary, "summary"
	if len(parts) == 0 {
		parts, kind = o.Content, "content"
	}
	for i, p := range parts {
		c.think(it, kind, i, p.Text, tell)
	}
}

// say tells text. An empty line parts the messages of an answer.
func (c *consumer) say(it *item, text string, tell func(agent.Delta)) {
	if text == "" {
		return
	}
	if c.written != nil && c.written != it {
		text = "\n\n" + text
	}
	c.written, it.told = it, true
	tell(agent.Delta{Text: text})
}

// think tells reasoning. An empty line parts the parts of a summary.
func (c *consumer) think(it *item, kind string, part int, text string, tell func(agent.Delta)) {
	if it.reasoning == "" {
		it.reasoning = kind
	}
	if it.reasoning != kind || text == "" {
		return
	}
	if c.thought != nil && (c.thought != it || it.summary != part) {
		text = "\n\n" + text
	}
	c.thought, it.summary = it, part
	tell(agent.Delta{Reasoning: text})
}

// setArguments takes the whole arguments and says whether they are news.
func (it *item) setArguments(whole string) bool {
	if whole == "" || whole == it.arguments.String() {
		return false
	}
	it.arguments.Reset()
	it.arguments.WriteString(whole)
	return true
}

// call is a call as it is up to here.
func (it *item) call() agent.Delta {
	return agent.Delta{Call: &agent.CallDelta{
		Position: it.position, ID: it.CallID, Name: it.Name, Arguments: it.arguments.String(),
	}}
}

// takeWhole folds an answer in one piece.
func (c *consumer) takeWhole(data []byte, tell func(agent.Delta)) error {
	var r response
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if r.Output == nil {
		return errNoOutput
	}
	switch r.Status {
	case "completed", "incomplete", "failed":
		return c.end(data, r.Status, tell)
	case "":
		return c.end(data, "completed", tell)
	default:
		return fmt.Errorf("the answer is %s", r.Status)
	}
}

// end takes the end of the answer, and what it holds that no event told.
func (c *consumer) end(data []byte, status string, tell func(agent.Delta)) error {
	var r response
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if status == "failed" {
		if e := provider.ErrorOf(r.Error); e != nil {
			return e
		}
		return &provider.APIError{Message: "the provider ended the answer as failed"}
	}
	seen := map[string]int{} // of each type
	for i, raw := range r.Output {
		o, err := readItem(raw)
		if err != nil {
			return err
		}
		it := c.nth(o.Type, seen[o.Type])
		seen[o.Type]++
		if it == nil {
			it = c.add(outputItem{ID: o.ID, Type: o.Type}, i)
		}
		c.finishItem(it, o, raw, tell)
	}
	if status == "incomplete" {
		c.finish = agent.FinishLength
		if r.Incomplete != nil && r.Incomplete.Reason == "content_filter" {
			c.finish = agent.FinishFiltered
		}
	}
	c.usage, c.finished = r.Usage, true
	return nil
}

// nth returns the item of a type that was told as the n-th of them, from 0; nil: there were fewer.
// What is in the final list has its order, whatever its ids.
func (c *consumer) nth(kind string, n int) *item {
	for _, it := range c.items {
		if it.Type != kind {
			continue
		}
		if n == 0 {
			return it
		}
		n--
	}
	return nil
}

// completion returns what a finished answer came to, without its text.
func (c *consumer) completion() agent.Completion {
	return agent.Completion{ToolCalls: c.toolCalls(), Finish: c.finish, Usage: c.usage.total()}
}

// toolCalls returns the complete calls that have a name. Missing ids are made up, missing arguments
// are an empty object.
func (c *consumer) toolCalls() []agent.ToolCall {
	var out []agent.ToolCall
	var before []echoed
	for _, it := range c.items {
		switch {
		case it.Type == typeMessage && it.told:
			before = append(before, echoed{Type: typeMessage, Phase: it.Phase})
		case it.Type == typeReasoning && it.done && (it.Encrypted != "" || len(it.Content) > 0):
			// Without either it is a mere reference to what the provider does not keep.
			before = append(before, echoed{Type: typeReasoning, raw: it.raw})
		case it.Type == typeCall && it.Name != "" && it.Status != "incomplete" && (it.done || c.finish == agent.FinishStop):
			call := agent.ToolCall{ID: it.CallID, Name: it.Name, Arguments: it.arguments.String()}
			if call.ID == "" {
				call.ID = "call_" + strconv.Itoa(it.position+1)
			}
			if call.Arguments == "" {
				call.Arguments = "{}"
			}
			call.Extra = echo{Model: c.model, Before: before}.extra()
			out, before = append(out, call), nil
		}
	}
	return out
}
